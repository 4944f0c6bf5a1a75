/**
 * One look at all locks of a target, and what is remembered of the looks before it. Plain data: how
 * the looks are made is another file's matter.
 */
import type { FencingToken } from '../domain/fence.ts';
import type { LockSnapshot } from '../domain/lock.ts';
import type { Text } from '../domain/text.ts';
import type { LeaseTrack } from './lease-track.ts';

/** What one look at a target saw. */
export interface Observation {
  /** Target as it may be printed. */
  readonly target: string;
  /** When the look began and ended, in milliseconds of this machine's monotonic clock. */
  readonly startedMs: number;
  readonly endedMs: number;
  /** When it ended by this machine's wall clock, RFC 3339. */
  readonly at: string;
  readonly locks: readonly LockSnapshot[];
  /** False: a lock that is missing here may still be there (a part could not be read). */
  readonly complete: boolean;
  /** Set when looks in between failed: what happened meanwhile nobody saw. */
  readonly gap?: { readonly sinceMs: number; readonly reason: string };
}

/** What is remembered of one lock. */
export interface Track {
  readonly snapshot: LockSnapshot;
  /** The look in which `snapshot` was taken. */
  readonly startedMs: number;
  readonly endedMs: number;
  /** First look that saw this holder, and whether its grant fell between two looks. */
  readonly heldSinceMs: number;
  readonly sawGrant: boolean;
  /** Undefined unless the lease has a time to live. */
  readonly lease: LeaseTrack | undefined;
  readonly fence: LastFence | undefined;
  /** Hand-overs seen. */
  readonly handOvers: number;
}

/** The last token seen of a lock, and whose it was. */
export interface LastFence {
  readonly token: FencingToken;
  readonly owner: Text | undefined;
  readonly seenMs: number;
}

/** All that is remembered of one target. */
export interface Memory {
  /** False before the first look. */
  readonly begun: boolean;
  readonly tracks: ReadonlyMap<string, Track>;
  /** Tokens of locks that are gone, oldest first and bounded: a lock often comes back. */
  readonly gone: ReadonlyMap<string, LastFence>;
}

/** Before the first look. */
export const nothingSeen: Memory = { begun: false, tracks: new Map(), gone: new Map() };

/** Two layouts may use one name: they are two locks. Text holds no line break. */
export function lockKey(lock: LockSnapshot): string {
  return `${lock.recognition.convention}\n${lock.ref.name}`;
}
