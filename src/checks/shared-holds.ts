/**
 * Read/write locks and semaphores: which holds may stand beside each other, and the sweeps that find
 * those that may not. Exact as for exclusive locks: placing each acquire at its reply and each
 * release at its invocation makes every hold as short as it can be.
 */
import type { Grant, LockHistory } from './history.ts';
import { holdOf, longestTwo, type Hold } from './holds.ts';

/** The stretch each grant was surely held, until `endNs` of it. */
export interface SharedHold extends Hold {
  /** 0 for an exclusive hold. */
  readonly permits: number;
}

/**
 * Holds of a lock with shared grants. One owner's read and write locks go together (upgrade,
 * downgrade); each permit of a semaphore stands for itself.
 */
export function sharedHolds(
  lock: LockHistory,
  endOf: (grant: Grant) => number,
): readonly SharedHold[] {
  return lock.grants.map((grant) => {
    const { sharing, worker, owner, index } = grant;
    const limited = sharing !== undefined && sharing.limit !== Infinity;
    const identity = limited ? String(index) : `${worker} ${owner ?? ''}`;
    return { ...holdOf(grant, endOf(grant), identity), permits: sharing?.permits ?? 0 };
  });
}

/** An exclusive hold and any other one of another owner at once, in order of their starts. */
export function findIntrusion(
  holds: readonly SharedHold[],
): readonly [SharedHold, SharedHold] | undefined {
  let exclusive: readonly SharedHold[] = []; // of each kind the two that end last, of two owners
  let shared: readonly SharedHold[] = [];
  for (const hold of byStart(holds)) {
    const rivals = hold.permits === 0 ? [...exclusive, ...shared] : exclusive;
    const other = rivals.find(
      ({ identity, endNs }) => identity !== hold.identity && hold.startNs < endNs,
    );
    if (other !== undefined) return [other, hold];
    if (hold.permits === 0) exclusive = longestTwo(exclusive, hold);
    else shared = longestTwo(shared, hold);
  }
  return undefined;
}

export interface Crowd {
  /** The fewest holds that together have more permits than there are; empty if never. */
  readonly holds: readonly SharedHold[];
  /** How often the last permit was taken. */
  readonly timesFull: number;
}

/** The first instant at which more than `limit` permits were surely out. */
export function findCrowd(holds: readonly SharedHold[], limit: number): Crowd {
  const starts = byStart(holds);
  const ends = [...starts].sort((a, b) => a.endNs - b.endNs);
  let out = 0;
  let ended = 0;
  let timesFull = 0;
  for (const hold of starts) {
    for (let next = ends[ended]; next !== undefined; next = ends[ended]) {
      if (next.endNs > hold.startNs) break;
      out -= next.permits;
      ended += 1;
    }
    out += hold.permits;
    if (out > limit) return { holds: fewest(openAt(starts, hold), limit), timesFull };
    if (out === limit) timesFull += 1;
  }
  return { holds: [], timesFull };
}

/**
 * The most permits that any acquire said there are: a semaphore may have been resized. Infinity when
 * none was counted: a read/write lock.
 */
export function permitLimit(lock: LockHistory): number {
  let most: number | undefined;
  for (const { sharing } of lock.grants) {
    if (sharing === undefined || sharing.limit === Infinity) continue;
    most = Math.max(most ?? 0, sharing.limit);
  }
  return most ?? Infinity;
}

function openAt(starts: readonly SharedHold[], last: SharedHold): readonly SharedHold[] {
  const known = starts.slice(0, starts.indexOf(last) + 1);
  return known.filter(({ endNs }) => endNs > last.startNs);
}

function fewest(open: readonly SharedHold[], limit: number): readonly SharedHold[] {
  const largest = [...open].sort((a, b) => b.permits - a.permits);
  let out = 0;
  const needed = largest.findIndex(({ permits }) => (out += permits) > limit);
  return byStart(largest.slice(0, needed + 1));
}

function byStart(holds: readonly SharedHold[]): readonly SharedHold[] {
  return holds.filter((hold) => hold.endNs > hold.startNs).sort((a, b) => a.startNs - b.startNs);
}
