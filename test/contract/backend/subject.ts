/**
 * What an adapter gives to the contract suite, and what the suite's parts share: the subject, its
 * facts, the raw client, and small ways of asking.
 */
import { setMaxListeners } from 'node:events';
import { expect } from 'vitest';
import { defaultLockPatterns } from '../../../src/domain/glob.ts';
import type { Backend, LockQuery } from '../../../src/backends/backend.ts';
import type { LockDetail, LockRef, LockSnapshot } from '../../../src/domain/lock.ts';
import type { Text } from '../../../src/domain/text.ts';

/** The closed list of what may differ. */
export interface BackendFacts {
  /** What a lock's name may hold. */
  readonly names: 'any-bytes' | 'printable-text';
  /** `owner-value`: the holder is named by what it wrote; `record`: by its key or node. */
  readonly holderIs: 'owner-value' | 'record';
  /** `ttl`: a lease that is renewed and counted; `session`: the record lives with a connection. */
  readonly lease: 'ttl' | 'session';
  /** What is left of a lock that nobody holds: nothing, or a record that says so. */
  readonly whenFree: 'gone' | 'free';
  /** Whether the operator's record can take the lock's place in one step. */
  readonly hold: 'replaces' | 'refused';
  /** What `history` gives for the lock that `Seeder.take` makes. */
  readonly history: 'present-holder' | 'past-grants';
  /** Whether every grant has a fencing token from the server itself. */
  readonly fence: 'every-grant' | 'none';
  /** How an account without the right to write is turned away. */
  readonly readOnlyAccount: 'refused' | 'none-exists';
}

/** One grant made by the raw client. */
export interface SeededGrant {
  readonly ref: LockRef;
  /** As `Holder.owner` (or `Holder.record`) should show it. */
  readonly owner: Text;
}

/** Takes and ends locks by a raw client, as an application would: never through the adapter. */
export interface Seeder {
  /** The lock's name as a user types it, e.g. a path under a prefix. */
  name(word: string): Text;
  /** Takes a free lock. `leaseMs` is rounded up where the server's leases are coarser. */
  take(name: Text, owner: string, leaseMs: number): Promise<SeededGrant>;
  /** Renews it once, to its full lease; of a session-bound lock, the session is heard of once. */
  renew(grant: SeededGrant): Promise<void>;
  /** Ends the grant, whoever holds it, and takes the lock for another owner. */
  steal(grant: SeededGrant, owner: string, leaseMs: number): Promise<SeededGrant>;
  /** The owner's own release. */
  end(grant: SeededGrant): Promise<void>;
  /** Whether exactly this grant is on the server. */
  isThere(grant: SeededGrant): Promise<boolean>;
  /** Writes a record that is nobody's lock. */
  other(name: Text): Promise<void>;
  close(): Promise<void>;
}

export interface BackendUnderTest {
  readonly facts: BackendFacts;
  /** A new adapter on the server of this test file. */
  open(): Promise<Backend>;
  /** The same kind of adapter on another port of this host. */
  openAt(port: number): Promise<Backend>;
  /** With an account that may read and not write; undefined where `readOnlyAccount` is `none-exists`. */
  openReadOnly?(): Promise<Backend>;
  /** Needs a running server: called after the file's labs have started. */
  seed(): Promise<Seeder>;
  /** Pattern that matches every name that `Seeder.name` gives for words with this beginning. */
  pattern(beginning: string): Text;
}

/** What each part of the suite works with. Filled by hooks: use its members inside tests only. */
export interface World {
  readonly subject: BackendUnderTest;
  readonly facts: BackendFacts;
  readonly backend: Backend;
  readonly seeder: Seeder;
  /** A name that no other test uses, recognised as a lock by its look. */
  fresh(word?: string): Text;
  /** The lock as it is now; fails the test when it is not there. */
  look(ref: LockRef): Promise<LockDetail>;
  listed(restriction?: Partial<LockQuery>): Promise<LockSnapshot[]>;
}

/** Nobody holds the lock, and there is nothing to release: as the facts say. */
export async function expectFree(world: World, ref: LockRef): Promise<void> {
  const left = await world.backend.inspect(ref, forever);
  if (world.facts.whenFree === 'gone') expect(left).toBeUndefined();
  else expect(left).toMatchObject({ state: 'free', identity: undefined });
}

/** A signal that nobody aborts. */
export const forever = new AbortController().signal;
// Every request under way listens to it: more than ten are no leak.
setMaxListeners(0, forever);

export const everyLock: LockQuery = {
  pattern: undefined,
  lockPatterns: defaultLockPatterns,
  all: false,
  conventions: undefined,
  ratePerSecond: undefined,
};

export async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

/** Lets a lease run down: the one thing here that only time can do. */
export function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
