/** A lock as an inspection adapter sees it: one snapshot, taken at one time, on one target. */
import type { Fence } from './fence.ts';
import type { Holder, Waiters } from './holder.ts';
import type { Known } from './known.ts';
import type { Lease } from './lease.ts';
import type { Text } from './text.ts';

/** Stable id of a layout, e.g. `plain`, `redisson`, `curator-mutex`, `etcd-concurrency`. */
export type ConventionId = string;

/** Convention of a record that nothing recognises as a lock: it has no identity to release. */
export const unrecognised: ConventionId = 'none';

export type Confidence = 'high' | 'medium' | 'low';

/** Which library's layout this is, how sure we are, and what else it could be. */
export interface Recognition {
  readonly convention: ConventionId;
  /** Name of the library or variant for people, e.g. `Redisson fair lock`. */
  readonly title: string;
  readonly confidence: Confidence;
  /** Other conventions that match the same record; empty when unambiguous. */
  readonly candidates: readonly ConventionId[];
  /** The caller named the convention. */
  readonly forced: boolean;
}

/** Names one lock on one target. `name` is what people type: the key, prefix or parent path. */
export interface LockRef {
  readonly name: Text;
  readonly convention?: ConventionId;
  /** Of several holders that share it, the one that is meant, as `Holder.owner` shows it. */
  readonly holder?: Text;
}

export type LockState =
  'held' | 'free' | 'no-ttl' | 'orphan-waiters' | 'partial' | 'split' | 'unknown';

export type LockMode = 'exclusive' | 'shared' | 'semaphore' | 'latch';

declare const identityBrand: unique symbol;
/** Everything the backend needs to compare before it deletes. Opaque outside that backend. */
export type IdentityRecord = string & { readonly [identityBrand]: true };

/** Exactly one grant of one lock. */
export interface LockIdentity {
  /** Short token printed by `show`, e.g. `r1.5be2c07d`: binds a release to the grant seen. */
  readonly expect: string;
  readonly record: IdentityRecord;
}

/** Something worth saying about a lock. `code` is stable, `text` is for people. */
export interface LockNote {
  readonly code: string;
  readonly severity: 'info' | 'warn';
  readonly text: string;
}

/** Which server answered. Shown with every answer. */
export interface ServerView {
  readonly endpoint: string;
  /** Role in the field's word: `primary`, `replica`, `leader`, `follower`, `standalone` … */
  readonly role: Known<string>;
  /** Who named this server, e.g. `Sentinel mymaster, 3 of 3 agree`. */
  readonly via?: string;
  /** What speaks against trusting this answer, e.g. that the sentinels disagree. */
  readonly doubts?: readonly string[];
  /** Redis Cluster: the hash slot of the lock. */
  readonly slot?: number;
  /** Set on a replica: whose, and whether its link is up. */
  readonly replicaOf?: {
    readonly primary: string;
    readonly link: 'up' | 'down';
    /** Seconds since the last word from the primary. */
    readonly lastHeardS: Known<number>;
    readonly lagBytes: Known<number>;
  };
}

export interface LockSnapshot {
  readonly ref: LockRef;
  /** Set when `ref` names one contender by its own record: the lock that it contends for. */
  readonly partOf?: LockRef;
  readonly state: LockState;
  readonly recognition: Recognition;
  readonly mode: LockMode;
  readonly holders: Known<readonly Holder[]>;
  /** Lease of the record as a whole. */
  readonly lease: Lease;
  readonly waiters: Waiters;
  readonly fence: Fence;
  /** Unknown unless the record or a recording carries it; never derived from a TTL. */
  readonly heldForMs: Known<number>;
  /** Keys or nodes that belong to this lock and are not locks themselves. */
  readonly helpers: readonly Text[];
  readonly notes: readonly LockNote[];
  /** Undefined when there is nothing to release (free, orphan waiters). */
  readonly identity: LockIdentity | undefined;
  readonly server: ServerView;
}

/** One piece of evidence about whether the owner lives. */
export interface OwnerEvidence {
  /** Kebab-case name, also used by guards: `owner-connection`, `idle-time`, `session` … */
  readonly name: string;
  readonly source: string;
  /** What this points to; `none` proves nothing either way. */
  readonly points: 'alive' | 'likely-alive' | 'likely-dead' | 'dead' | 'none';
  /** `known` sentence, or why it could not be had. */
  readonly finding: Known<string>;
}

/** One lock in full: what `inspect` returns. */
export interface LockDetail extends LockSnapshot {
  readonly evidence: readonly OwnerEvidence[];
  /** Raw facts for `-o json` and the curious, already escaped. */
  readonly facts: Readonly<Record<string, string>>;
}
