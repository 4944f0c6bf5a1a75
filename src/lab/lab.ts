/** Throwaway servers: what can be started and what a running lab looks like. */
import type { ProcessIdentity } from '../processes/process-evidence.ts';

export type LabSystem = 'redis' | 'etcd' | 'zookeeper';

export interface LabSpec {
  readonly system: LabSystem;
  /** 1 or 3 for etcd and zookeeper; 1 for redis. */
  readonly members: number;
  /** Server options, e.g. `maxmemory-policy=noeviction`. ZooKeeper: `4lw=off`. */
  readonly options: Readonly<Record<string, string>>;
}

export interface LabServer {
  readonly name: string;
  readonly pid: number;
  readonly host: string;
  readonly port: number;
  /** By purpose: `peer` (etcd, zookeeper), `election` and `admin` (AdminServer; zookeeper). */
  readonly otherPorts: Readonly<Record<string, number>>;
  readonly dataDir: string;
  readonly logFile: string;
}

export interface LabInfo {
  readonly id: string;
  readonly spec: LabSpec;
  /** URL for `--target`. */
  readonly target: string;
  readonly servers: readonly LabServer[];
  readonly startedAt: string;
  /** Process whose end ends the lab; undefined for `lab up`, which outlives its command. */
  readonly ownerPid: number | undefined;
}

export interface Lab extends LabInfo {
  /** Holds data and logs; removed by `stop`. */
  readonly folder: string;
  /**
   * Binds a process group (a worker's) to the lab: it gets SIGKILL when the lab ends, also when this
   * program is killed, and also when it is stopped. On disk before this returns.
   */
  adopt(leader: ProcessIdentity): void;
  /** Kills one server (SIGKILL) and leaves its data. */
  kill(server: string): Promise<void>;
  /** Starts a killed server again, with its data or `empty`. */
  start(server: string, how?: { readonly empty?: boolean }): Promise<void>;
  /** Stops everything and removes its folder. Idempotent. */
  stop(): Promise<void>;
}
