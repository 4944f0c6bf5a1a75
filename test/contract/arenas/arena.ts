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
  release(seen: LockDetail): Promise<unknown>;
}

/** One fight over one lock. */
export interface Round {
  readonly number: number;
  /** How the first owner's grant ends. */
  readonly ends: 'release' | 'expiry';
}

export interface StandingRecord {
  readonly owner: string;
  /** The owner's data are as it wrote them. */
  readonly intact: boolean;
}

/** Owners are plain words; each round has two of its own, and a lock of its own. */
export interface ReleaseArena {
  /**
   * Whether the next owner's record has the name of the first one's, so that a release sees it
   * change hands. Otherwise the release only ever sees it gone.
   */
  reusesName(of: Round): boolean;
  /**
   * What a refusal of the release means: that the next owner has the lock, told in this layout by
   * refusing. Default: a refusal is a failure of the race.
   */
  readonly refusesWhenTaken?: RegExp;
  /** The adapter whose release is on trial. Its connections are its own. */
  readonly backend: Backend;
  /** The lock of one round: never used by another round or another race on this server. */
  ref(round: number): LockRef;
  /** The first owner takes the free lock, with a lease that outlives the round. */
  take(ref: LockRef, owner: string, of: Round): Promise<void>;
  /**
   * This owner's grant ends, and no other's ever: by its own release, or by its lease or session
   * ending at once. Harmless when the grant is gone already.
   */
  lose(ref: LockRef, owner: string, of: Round): Promise<void>;
  /** The next owner tries until it has the lock, and then keeps it. */
  takeNext(ref: LockRef, owner: string): Promise<void>;
  /** The record that is there, read over a connection that no actor uses. */
  readRecord(ref: LockRef): Promise<StandingRecord | undefined>;
  /** At least one. */
  readonly naive: readonly NaiveRelease[];
  close(): Promise<void>;
}

const patienceMs = 60_000;

/** Repeats one attempt at a lock as fast as it answers. @throws {Error} when it stays held for a minute */
export async function keepTrying(name: string, attempt: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await attempt())) {
    if (performance.now() > deadline) throw new Error(`${name} never became free`);
  }
}
