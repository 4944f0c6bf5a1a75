/**
 * Watches one grant and says whether it is being renewed. A renewal moves the deadline, which is
 * this machine's monotonic time of the look plus the PTTL that the server counted; each look gives
 * it only within its own round trip, so only a move beyond both round trips counts.
 */
import { formatDuration } from '../../domain/duration.ts';
import { known, unknown, valueOf, type Known } from '../../domain/known.ts';
import type { Lease, LeaseObservation, RenewalSample } from '../../domain/lease.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import type { RedisConvention, RedisRecord, RedisSibling } from '../../conventions/convention.ts';
import type { RedisConnection } from './connection.ts';
import { unreadable } from './errors.ts';
import { grantBytes } from './grant.ts';
import { readIdentity, type StoredRecord } from './identity.ts';
import { pause } from './pause.ts';
import type { RecordReader } from './reader.ts';
import type { RedisConventions } from './recognise.ts';
import { readServerFacts } from './server-view.ts';
import { withSiblings } from './siblings.ts';

interface World {
  readonly connection: RedisConnection;
  readonly reader: RecordReader;
  readonly conventions: RedisConventions;
  readonly signal: AbortSignal;
}

/** Longest window that `auto` chooses. */
const autoLimitMs = 20_000;
/** Rounding of PTTL and slewing of either clock. */
const toleranceMs = 5;

interface Look {
  readonly observation: LeaseObservation;
  /** Bounds of the deadline on this machine's monotonic clock. */
  readonly earliestMs: number;
  readonly latestMs: number;
  readonly record: RedisSibling;
}

export async function sampleLease(
  world: World,
  seen: LockSnapshot,
  forMs: number | 'auto',
  onProgress?: (elapsedMs: number, totalMs: number) => void,
): Promise<RenewalSample> {
  const lease = watchedLease(seen);
  if (seen.identity === undefined || lease.kind !== 'ttl') {
    return notApplicable(
      lease.kind === 'never' ? 'a lock without a TTL is never renewed' : 'nobody holds it',
    );
  }
  if (lease.ttlMs <= 0) return notApplicable('its own time has run out');
  const stored = readIdentity(seen.identity.record, world.conventions);
  const neededMs = needed(lease);
  const totalMs = forMs === 'auto' ? Math.min(autoLimitMs, neededMs.value) : forMs;
  const watch = new Watch(stored, neededMs);
  const start = performance.now();
  for (;;) {
    const ended = watch.add(await look(world, stored));
    const elapsedMs = performance.now() - start;
    onProgress?.(Math.min(elapsedMs, totalMs), totalMs);
    // One renewal proves life; only a caller who named a window wants to see more of them.
    if (ended || elapsedMs >= totalMs || (forMs === 'auto' && watch.renewals > 0)) {
      return watch.result(elapsedMs);
    }
    await pause(Math.min(stepMs(totalMs), totalMs - elapsedMs), world.signal);
  }
}

/** The lease of the holder that is meant, where holders have their own; else that of the record. */
function watchedLease({
  ref,
  holders,
  lease,
}: Pick<LockSnapshot, 'ref' | 'holders' | 'lease'>): Lease {
  const all = valueOf(holders) ?? [];
  const meant = ref.holder === undefined ? all : all.filter((one) => one.owner === ref.holder);
  return (meant.length === 1 ? meant[0]?.lease : undefined) ?? lease;
}

function stepMs(totalMs: number): number {
  return Math.min(1000, Math.max(50, totalMs / 20));
}

/** Two thirds of the lease: a client that renews at all does it by then. */
function needed(lease: Lease & { kind: 'ttl' }): Known<number> & { value: number } {
  const { grantedMs, ttlMs } = lease;
  const granted = valueOf(grantedMs);
  if (granted !== undefined) return { kind: 'known', value: Math.ceil((granted * 2) / 3) };
  return {
    kind: 'partial',
    value: Math.ceil((ttlMs * 2) / 3),
    reason: 'the length of the lease is not recorded: it is at least the TTL seen',
  };
}

async function look(world: World, stored: StoredRecord): Promise<Look> {
  const { connection, reader, signal } = world;
  const facts = await readServerFacts(connection, { signal });
  const { key } = stored.record;
  const { convention, holder } = stored;
  const sentMs = performance.now();
  const page = await reader.keys([key], { signal });
  const [found] = page.records;
  if (found === undefined) throw unreadable(key);
  const record = await withParts(world, stored, found);
  const gotMs = performance.now();
  const runId = valueOf(facts.runId);
  const role = valueOf(facts.role);
  const leftMs = leftFor(record, stored);
  const ttlMs = leftMs ?? 0;
  return {
    observation: {
      atMs: (sentMs + gotMs) / 2,
      ttlMs: leftMs,
      incarnation: grantBytes(record, convention, holder) ?? otherType(record, convention),
      epoch:
        runId === undefined && role === undefined ? undefined : `${runId ?? '?'} ${role ?? '?'}`,
    },
    earliestMs: sentMs + ttlMs,
    latestMs: gotMs + ttlMs,
    record,
  };
}

/** Layouts whose holders have parts of their own may keep them, or their times, in helpers. */
async function withParts(
  { connection: sender, reader, signal }: World,
  { convention }: StoredRecord,
  record: RedisRecord,
): Promise<RedisRecord> {
  if (convention.grantOf === undefined) return record;
  const [complete] = await withSiblings(sender, reader, [{ record, convention }], { signal });
  return complete ?? record;
}

/** Time left of the holder that is watched; undefined: it has no end. */
function leftFor(record: RedisRecord, { convention, holder }: StoredRecord): number | undefined {
  if (convention.grantOf === undefined) return record.ttlMs;
  const { holders, lease } = convention.decode(record);
  const ref = { name: record.key, ...(holder === undefined ? {} : { holder }) };
  const watched = watchedLease({
    ref,
    holders,
    lease: lease ?? keyLease(record),
  });
  return watched.kind === 'ttl' ? watched.ttlMs : undefined;
}

function keyLease({ ttlMs }: RedisRecord): Lease {
  return ttlMs === undefined
    ? { kind: 'never' }
    : { kind: 'ttl', ttlMs, grantedMs: unknown('not recorded') };
}

/** The name is taken by something else: no grant of this layout, and not gone either. */
function otherType({ type }: RedisRecord, convention: RedisConvention): string | undefined {
  return convention.grantOf !== undefined || type === 'none' ? undefined : type;
}

/** Collects looks until one of them ends the window. */
class Watch {
  readonly #stored: StoredRecord;
  readonly #neededMs: Known<number>;
  readonly #looks: Look[] = [];
  #incarnation: string | undefined;
  #end: 'gone' | 'changed-hands' | 'discarded' | 'not-applicable' | undefined;
  renewals = 0;

  constructor(stored: StoredRecord, neededMs: Known<number>) {
    this.#stored = stored;
    this.#neededMs = neededMs;
    this.#incarnation = grantBytes(stored.record, stored.convention, stored.holder);
  }

  /** True when nothing more can be learnt. */
  add(next: Look): boolean {
    const last = this.#looks.at(-1);
    this.#looks.push(next);
    const { epoch, incarnation, ttlMs } = next.observation;
    if (last !== undefined && last.observation.epoch !== epoch) this.#end = 'discarded';
    else if (incarnation === undefined) this.#end = 'gone';
    else if (incarnation !== this.#incarnation && !this.#sameOwners(next.record)) {
      this.#end = 'changed-hands';
    } else if (ttlMs === undefined) this.#end = 'not-applicable';
    else if (
      incarnation !== this.#incarnation ||
      (last !== undefined && next.earliestMs > last.latestMs + toleranceMs)
    ) {
      // The deadline moved, or the same owner wrote its record anew (a reentrant acquire).
      this.renewals += 1;
      this.#incarnation = incarnation;
    }
    return this.#end !== undefined;
  }

  #sameOwners(record: RedisSibling): boolean {
    const { fields } = this.#stored.record;
    if (fields === undefined || record.fields === undefined) return false;
    // Where a grant has fields of its own (owner, fence), any other value is another grant.
    if (this.#stored.convention.grantFields !== undefined) return false;
    const names = (of: ReadonlyMap<string, string>): string => [...of.keys()].sort().join('\n');
    return names(fields) === names(record.fields);
  }

  result(windowMs: number): RenewalSample {
    const outcome = this.#end ?? (this.renewals > 0 ? 'renewed' : 'not-renewed');
    return {
      windowMs,
      neededMs: this.#neededMs,
      observations: this.#looks.map((one) => one.observation),
      renewals:
        outcome === 'discarded' ? unknown('the observations were discarded') : known(this.renewals),
      outcome,
      note: this.#note(outcome, windowMs),
    };
  }

  #note(outcome: RenewalSample['outcome'], windowMs: number): string {
    const window = formatDuration(windowMs);
    const first = this.#looks[0]?.observation.ttlMs;
    const last = this.#looks.at(-1)?.observation.ttlMs;
    switch (outcome) {
      case 'renewed':
        return `renewed ${this.renewals === 1 ? 'once' : `${this.renewals} times`} in ${window}`;
      case 'not-renewed':
        return `TTL fell from ${formatDuration(first ?? 0)} to ${formatDuration(last ?? 0)} without a renewal in ${window}`;
      case 'changed-hands':
        return `another grant took its place within ${window}`;
      case 'gone':
        return `it was gone within ${window}`;
      case 'discarded':
        return 'the server changed its role or was replaced while it was watched: nothing can be said';
      case 'not-applicable':
        return 'it has no TTL any more: it is never renewed';
    }
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
