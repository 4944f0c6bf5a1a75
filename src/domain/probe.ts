/** What a target is and what this account may do on it. */
import type { Known } from './known.ts';
import type { ServerView } from './lock.ts';

/** Whether something can be done here, with the reason and the permission or flag that would help. */
export type Ability =
  | { readonly can: true }
  | { readonly can: false; readonly reason: string; readonly remedy?: string };

export interface Capabilities {
  /** Deleting locks with this account, on this server. */
  readonly release: Ability;
  /** Replacing a record by the operator's own in one step. */
  readonly hold: Ability;
  /** Ending the owner's whole session or lease. */
  readonly endSession: Ability;
  /** A history kept by the server itself. */
  readonly history: Ability;
  /** Seeing client connections or sessions. */
  readonly clients: Ability;
  /** Seeing waiters where the layout keeps them. */
  readonly waiters: Ability;
}

export interface Probe {
  /** Product and version, e.g. `Redis 7.0.15`. */
  readonly version: Known<string>;
  /** `standalone`, `primary with 2 replicas`, `ensemble of 3` … */
  readonly topology: Known<string>;
  /** Run id, etcd cluster id or ZooKeeper ensemble fingerprint: proves which cluster this is. */
  readonly clusterId: Known<string>;
  /** The server that answers for writes, and its role. */
  readonly server: ServerView;
  /** Whether writes go to the writable side (primary, quorum with a leader). */
  readonly writable: Ability;
  /** A leader is present and no failover is under way. `can: false` names what was seen. */
  readonly healthy: Known<Ability>;
  /** Server wall clock minus ours. For display only: no decision uses it. */
  readonly clockOffsetMs: Known<number>;
  readonly capabilities: Capabilities;
}
