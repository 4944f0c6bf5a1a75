/**
 * Watches one grant and says whether its lease is being renewed. etcd counts in whole seconds,
 * rounded down, so one look knows the deadline only within a second; looks without a renewal
 * between them narrow it down, and a look beyond what is left is a renewal. A new raft term starts
 * every lease at its full length again: what was seen across it says nothing.
 */
import { formatDuration } from '../../domain/duration.ts';
import { known, unknown, valueOf, type Known } from '../../domain/known.ts';
import type { LeaseObservation, RenewalSample } from '../../domain/lease.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import { leaseHex } from '../../conventions/etcd-queue.ts';
import { findLock } from './find.ts';
import { readIdentity, type StoredGrant } from './identity.ts';
import { readLease } from './leases.ts';
import { pause } from './pause.ts';
import { readKey } from './range.ts';
import { holderOf } from './snapshot.ts';
import type { EtcdWorld } from './world.ts';

/** Longest window that `auto` chooses. */
const autoLimitMs = 20_000;
/** Below this, whole seconds show nothing. */
const leastWindowMs = 3000;
/** Slewing of either clock. */
const toleranceMs = 50;
const grainMs = 1000;

interface Look {
  readonly observation: LeaseObservation;
  readonly state: 'holding' | 'changed-hands' | 'gone' | 'untold';
  /** Bounds of the deadline on this machine's monotonic clock. */
  readonly earliestMs: number;
  readonly latestMs: number;
}

export async function sampleLease(
  world: EtcdWorld,
  seen: LockSnapshot,
  forMs: number | 'auto',
  signal: AbortSignal,
  onProgress?: (elapsedMs: number, totalMs: number) => void,
): Promise<RenewalSample> {
  if (seen.identity === undefined || seen.lease.kind !== 'ttl') {
    return notApplicable(
      seen.lease.kind === 'never' ? 'a key without a lease is never renewed' : 'nobody holds it',
    );
  }
  const grant = readIdentity(seen.identity.record);
  const neededMs = needed(seen.lease);
  const asked = forMs === 'auto' ? Math.min(autoLimitMs, neededMs.value) : forMs;
  const totalMs = Math.max(leastWindowMs, asked);
  const watch = new Watch(neededMs);
  const start = performance.now();
  for (;;) {
    const ended = watch.add(await look(world, grant, signal));
    const elapsedMs = performance.now() - start;
    onProgress?.(Math.min(elapsedMs, totalMs), totalMs);
    // One renewal proves life; only a caller who named a window wants to see more of them.
    if (ended || elapsedMs >= totalMs || (forMs === 'auto' && watch.renewals > 0)) {
      return watch.result(elapsedMs);
    }
    await pause(Math.min(Math.max(250, totalMs / 40), totalMs - elapsedMs), signal);
  }
}

/** Two thirds of the lease: a client that renews at all does it by then. */
function needed(lease: LockSnapshot['lease'] & { kind: 'ttl' }): { kind: 'known'; value: number } {
  const granted = valueOf(lease.grantedMs) ?? lease.ttlMs;
  return { kind: 'known', value: Math.max(leastWindowMs, Math.ceil((granted * 2) / 3)) };
}

async function look(world: EtcdWorld, grant: StoredGrant, signal: AbortSignal): Promise<Look> {
  const { link } = world;
  const { key, raftTerm } = await readKey(link, grant.key, signal);
  const sentMs = performance.now();
  // An election's holder may proclaim a new value: the same key on the same lease is still its own.
  const same = key?.createRevision === grant.createRevision && key.lease === grant.lease;
  if (!same) return ended(world, grant, sentMs, raftTerm, signal);
  const lease = await readLease(link, grant.lease, { keys: false, signal });
  const gotMs = performance.now();
  const ttlMs = lease.kind === 'living' ? lease.ttlMs : undefined;
  const term = lease.kind === 'living' && lease.raftTerm > raftTerm ? lease.raftTerm : raftTerm;
  return {
    observation: {
      atMs: (sentMs + gotMs) / 2,
      ttlMs,
      incarnation: `${grant.createRevision} ${leaseHex(grant.lease)}`,
      epoch: `raft term ${term}`,
    },
    state: lease.kind === 'living' ? 'holding' : lease.kind === 'gone' ? 'gone' : 'untold',
    earliestMs: sentMs + (ttlMs ?? 0),
    latestMs: gotMs + (ttlMs ?? 0) + grainMs,
  };
}

/** The key seen is gone or another's: the lock may have another holder. */
async function ended(
  world: EtcdWorld,
  grant: StoredGrant,
  atMs: number,
  raftTerm: bigint,
  signal: AbortSignal,
): Promise<Look> {
  const found = await findLock(world, { name: grant.name, convention: grant.convention }, signal);
  const next = found === undefined ? undefined : holderOf(found.record);
  return {
    observation: {
      atMs,
      ttlMs: undefined,
      incarnation: next && `${next.createRevision} ${leaseHex(next.lease)}`,
      epoch: `raft term ${found?.raftTerm ?? raftTerm}`,
    },
    state: next === undefined ? 'gone' : 'changed-hands',
    earliestMs: 0,
    latestMs: 0,
  };
}

/** Collects looks until one of them ends the window. */
class Watch {
  readonly #neededMs: Known<number>;
  readonly #looks: Look[] = [];
  /** Latest deadline that all looks since the last renewal allow. */
  #latestMs = Number.POSITIVE_INFINITY;
  #end: 'gone' | 'changed-hands' | 'discarded' | 'not-applicable' | undefined;
  renewals = 0;

  constructor(neededMs: Known<number>) {
    this.#neededMs = neededMs;
  }

  /** True when nothing more can be learnt. */
  add(next: Look): boolean {
    const last = this.#looks.at(-1);
    this.#looks.push(next);
    if (last !== undefined && last.observation.epoch !== next.observation.epoch) {
      this.#end = 'discarded';
    } else if (next.state !== 'holding') {
      this.#end = next.state === 'untold' ? 'not-applicable' : next.state;
    } else if (next.earliestMs > this.#latestMs + toleranceMs) {
      this.renewals += 1;
      this.#latestMs = next.latestMs;
    } else {
      this.#latestMs = Math.min(this.#latestMs, next.latestMs);
    }
    return this.#end !== undefined;
  }

  result(windowMs: number): RenewalSample {
    const outcome = this.#end ?? (this.renewals > 0 ? 'renewed' : 'not-renewed');
    return {
      windowMs,
      neededMs: this.#neededMs,
      observations: this.#looks.map((one) => one.observation),
      renewals:
        outcome === 'discarded' || outcome === 'not-applicable'
          ? unknown(this.#note(outcome, windowMs))
          : known(this.renewals),
      outcome,
      note: this.#note(outcome, windowMs),
    };
  }

  #note(outcome: RenewalSample['outcome'], windowMs: number): string {
    const window = formatDuration(windowMs);
    const [first, last] = [this.#looks[0], this.#looks.at(-1)].map((one) => ({
      epoch: one?.observation.epoch ?? 'unknown raft term',
      ttl: formatDuration(one?.observation.ttlMs ?? 0),
    }));
    if (first === undefined || last === undefined) return '';
    const times = this.renewals === 1 ? 'once' : `${this.renewals} times`;
    const notes: Readonly<Record<RenewalSample['outcome'], string>> = {
      renewed: `renewed ${times} in ${window}, same ${first.epoch}`,
      'not-renewed': `TTL fell from ${first.ttl} to ${last.ttl} without a renewal in ${window}`,
      'changed-hands': `another grant took its place within ${window}`,
      gone: `it was gone within ${window}`,
      discarded: `the leader changed (${first.epoch} → ${last.epoch}), which starts every lease anew: what was seen is discarded`,
      'not-applicable': 'this account may not ask for leases',
    };
    return notes[outcome];
  }
}

function notApplicable(note: string): RenewalSample {
  return {
    windowMs: 0,
    neededMs: unknown(note),
    observations: [],
    renewals: unknown(note),
    outcome: 'not-applicable',
    note,
  };
}
