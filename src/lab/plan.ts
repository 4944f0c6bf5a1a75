/** What a lab will start: the plan of each server, made by redis.ts, etcd.ts and zookeeper.ts. */
import type { Environment } from './folders.ts';
import type { LabCertificates } from './certificates.ts';
import type { LabSpec } from './lab.ts';

export interface ServerPlan {
  readonly name: string;
  readonly port: number;
  readonly otherPorts: Readonly<Record<string, number>>;
  readonly dataDir: string;
  readonly logFile: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Configuration files, by path; written before every start. */
  readonly files: Readonly<Record<string, string>>;
  /** Whether it serves now. May reject: that means not yet. */
  readonly isReady: () => Promise<boolean>;
  /**
   * Needed where a member that lost its data must be announced to the others; returns the
   * arguments of that start.
   */
  readonly rejoinEmpty?: (livingPorts: readonly number[]) => Promise<readonly string[]>;
}

export interface LabPlan {
  readonly target: string;
  readonly servers: readonly ServerPlan[];
  /** Once, when every server serves: makes one cluster of them. */
  readonly join?: () => Promise<void>;
  /** Whether they serve together (replicas in step, sentinels agreed). May reject: not yet. */
  readonly isTogether?: () => Promise<boolean>;
}

/** What a plan is made from. */
export interface LabSite {
  readonly id: string;
  readonly folder: string;
  readonly spec: LabSpec;
  readonly env: Environment;
  readonly port: () => Promise<number>;
  /** Certificates of this lab; undefined without TLS. */
  readonly tls: LabCertificates | undefined;
}
