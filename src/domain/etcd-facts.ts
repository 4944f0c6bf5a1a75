/**
 * What an audit reads of an etcd cluster: the word of every member that the target names, its metrics,
 * and what the cluster tells of its leases and users. What was refused is unknown.
 */
import type { Known } from './known.ts';
import type { Text } from './text.ts';

/** One member as the cluster lists it. */
export interface EtcdPeer {
  readonly name: Text;
  /** Hex, as etcd's own tools print it. */
  readonly id: string;
  readonly learner: boolean;
}

/** A member's own view. */
export interface EtcdStatus {
  readonly version: Text;
  /** Hex; undefined when it sees none. */
  readonly leader: string | undefined;
  readonly dbSizeBytes: number;
  /** Raft entries that are committed, but not yet applied. */
  readonly behind: bigint;
}

/** One member of the target, by `host:port`. */
export interface EtcdMemberFacts {
  readonly member: string;
  readonly status: Known<EtcdStatus>;
  /** Samples of /metrics by name with labels: `etcd_server_has_leader`. */
  readonly metrics: Known<ReadonlyMap<string, number>>;
  /** Ids of the leases that this member knows, in hex: of several members two looks, else one. */
  readonly leases: Known<readonly (readonly string[])[]>;
}

export interface EtcdFacts {
  readonly kind: 'etcd';
  /** `host:port` that answered. */
  readonly server: string;
  /** ISO time of this machine at which the facts were read. */
  readonly at: string;
  /** Whether our own connection is encrypted, and whether we showed a certificate. */
  readonly encrypted: boolean;
  readonly certificate: boolean;
  readonly peers: Known<readonly EtcdPeer[]>;
  readonly members: readonly EtcdMemberFacts[];
  /** Names of the alarms that are raised, each with its member. */
  readonly alarms: Known<readonly string[]>;
  /** Whether a request without a user is answered. */
  readonly openToAll: Known<boolean>;
  /** Keys on the leases of the sampled locks, by lease id in hex. */
  readonly leaseKeys: Known<ReadonlyMap<Text, readonly Text[]>>;
  /** Roles other than root that may write every key. */
  readonly wideRoles: Known<readonly Text[]>;
  /** The account of this audit, and whether it may write. */
  readonly account: Known<Text>;
  readonly mayWrite: Known<boolean>;
}
