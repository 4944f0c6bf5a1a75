/** Throwaway servers: what can be started and what a running lab looks like. */
import type { ProcessIdentity } from '../processes/process-evidence.ts';

/** Server programs that can be installed. */
export type LabSystem = 'redis' | 'etcd' | 'zookeeper';

/** What can be started: a system, for Redis in each way of deploying it. */
export type LabTopology = LabSystem | 'redis-sentinel' | 'redis-cluster' | 'redlock';

export interface LabSpec {
  readonly system: LabTopology;
  /**
   * Servers in all. redis: 1, or 3 for a primary with two replicas; redis-sentinel: 6 (the same and
   * three sentinels); redis-cluster: 6 (three primaries with a replica each); redlock: 3 or 5
   * independent ones; etcd and zookeeper: 1 or 3.
   */
  readonly members: number;
  /** Redis only: everything over TLS, with a certificate authority made for this lab. */
  readonly tls: boolean;
  /** Server options, e.g. `maxmemory-policy=noeviction`. ZooKeeper: `4lw=off`. */
  readonly options: Readonly<Record<string, string>>;
}

export interface LabServer {
  readonly name: string;
  readonly pid: number;
  readonly host: string;
  readonly port: number;
  /** By purpose: `peer` (etcd, zookeeper), `election` and `admin` (AdminServer; zookeeper), `bus` (Redis Cluster). */
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
