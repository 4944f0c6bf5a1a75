/**
 * What an adapter gives to the release race (race.contract.ts): one lock layout on one real server,
 * with three actors on connections of their own, and releases that are known to be wrong.
 */
import type { Backend } from '../../../src/backends/backend.ts';
import type { LockDetail, LockRef } from '../../../src/domain/lock.ts';

/** A release as people write it by hand. The race must catch it deleting somebody else's lock. */
export interface NaiveRelease {
  /** E.g. `GET, then DEL`. */
  readonly title: string;
  release(seen: LockDetail): Promise<void>;
}

/** Owners are plain words; each round has two of its own, and a lock of its own. */
export interface ReleaseArena {
  /** The adapter whose release is on trial. Its connections are its own. */
  readonly backend: Backend;
  /** The lock of one round: never used by another round or another race on this server. */
  ref(round: number): LockRef;
  /** The first owner takes the free lock, with a lease that outlives the round. */
  take(ref: LockRef, owner: string): Promise<void>;
  /**
   * This owner's grant ends, and no other's ever: by its own release, or by its lease or session
   * ending at once. Harmless when the grant is gone already.
   */
  lose(ref: LockRef, owner: string, how: 'release' | 'expiry'): Promise<void>;
  /** One attempt of the next owner; false while the lock is held. It keeps the lock once it has it. */
  tryTake(ref: LockRef, owner: string): Promise<boolean>;
  /** The owner in the record, read over a connection that no actor uses. */
  readOwner(ref: LockRef): Promise<string | undefined>;
  /** At least one. */
  readonly naive: readonly NaiveRelease[];
  close(): Promise<void>;
}
