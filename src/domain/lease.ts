/** Leases: what bounds a hold, and what a window of observation says about its renewal. */
import type { Known } from './known.ts';
import type { Text } from './text.ts';

export type Lease =
  | {
      /** The record has a time to live, counted by the server. */
      readonly kind: 'ttl';
      /** Left at the time of observation, in milliseconds by the server's clock. */
      readonly ttlMs: number;
      /** Granted length where the server or record tells (etcd grantedTTL). */
      readonly grantedMs: Known<number>;
      /** Server-side id of the lease (etcd: hex), if leases have ids. */
      readonly id?: Text;
      /** Other records that end with this lease. */
      readonly shared?: Known<readonly Text[]>;
    }
  | {
      /** The record lives as long as a client session (ZooKeeper). */
      readonly kind: 'session';
      /** `0x…` hex, as the server's own tools print it. */
      readonly sessionId: Text;
      readonly timeoutMs: Known<number>;
      readonly shared?: Known<readonly Text[]>;
    }
  | {
      /** Nothing ends it but a deletion. */
      readonly kind: 'never';
    }
  | { readonly kind: 'unknown'; readonly reason: string; readonly remedy?: string };

/** One look at the lease. `atMs` is this machine's monotonic clock, `ttlMs` the server's count. */
export interface LeaseObservation {
  readonly atMs: number;
  readonly ttlMs: number | undefined;
  /** Which incarnation was seen; a change of it ends the window. */
  readonly incarnation: string | undefined;
  /** Raft term, run id, leader … when it changes, observations across it are discarded. */
  readonly epoch: string | undefined;
}

/** What watching a lease for a while showed. */
export interface RenewalSample {
  /** How long we watched. */
  readonly windowMs: number;
  /** How long we would have to watch to call a silent holder likely dead: 2/3 of the lease, or more. */
  readonly neededMs: Known<number>;
  readonly observations: readonly LeaseObservation[];
  /** Number of times the deadline moved forward beyond jitter. Unknown where nothing renews. */
  readonly renewals: Known<number>;
  readonly outcome:
    'renewed' | 'not-renewed' | 'changed-hands' | 'gone' | 'not-applicable' | 'discarded';
  /** One sentence for people, e.g. "TTL fell from 30 s to 11 s without a renewal". */
  readonly note: string;
}
