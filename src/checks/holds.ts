/** Stretches of time in which a lock was surely held, and the sweep that finds two at once. */
import type { Grant, HistoryIndex, LockHistory } from './history.ts';
import { IntervalList } from './interval-list.ts';
import { grantName, holdSeqs } from './witness.ts';

export interface Hold {
  /** Holds with one identity are one holder's and never conflict. */
  readonly identity: string;
  readonly name: string;
  readonly startNs: number;
  readonly endNs: number;
  /** Events that show it; the first one shows that it began. */
  readonly seqs: readonly number[];
}

/** The hold of one grant until `endNs`. */
export function holdOf(grant: Grant, endNs: number, identity = String(grant.index)): Hold {
  return {
    identity,
    name: grantName(grant),
    startNs: grant.grantedNs,
    endNs,
    seqs: holdSeqs(grant),
  };
}

/** What a renewal or release of somebody else can hurt: shared holds end one by one beside others. */
export function exclusiveHolds(lock: LockHistory): IntervalList<Grant> {
  const exclusive = lock.grants.filter(({ sharing }) => sharing === undefined);
  return new IntervalList(
    exclusive.map((grant) => ({ from: grant.grantedNs, to: grant.endNs, value: grant })),
  );
}

/**
 * The first two holds of different identity that overlap, in order of their starts. Holds that are
 * over before they begin (a lease shorter than its reply took) are none; touching is no overlap.
 */
export function findOverlap(holds: readonly Hold[]): readonly [Hold, Hold] | undefined {
  const sorted = holds
    .filter((hold) => hold.endNs > hold.startNs)
    .sort((a, b) => a.startNs - b.startNs);
  let open: readonly Hold[] = []; // the two that end last, of two identities
  for (const hold of sorted) {
    const other = open.find(
      ({ identity, endNs }) => identity !== hold.identity && hold.startNs < endNs,
    );
    if (other !== undefined) return [other, hold];
    open = longestTwo(open, hold);
  }
  return undefined;
}

/** Of the holds that matter to later ones: the two that end last, of two identities. */
export function longestTwo<Item extends Hold>(open: readonly Item[], hold: Item): readonly Item[] {
  const same = open.find(({ identity }) => identity === hold.identity);
  if (same !== undefined && same.endNs >= hold.endNs) return open;
  return [...open.filter((one) => one !== same), hold]
    .sort((a, b) => b.endNs - a.endNs)
    .slice(0, 2);
}

/**
 * What an observer saw on the service. It reads one after the other, so a record seen twice in a
 * row was there from the first reading to the last but one: the last may have been answered any
 * time after that.
 */
export function sightings(history: HistoryIndex, lock: LockHistory): readonly Hold[] {
  const open = new Map<string, Hold & { lastNs: number }>();
  const done: Hold[] = [];
  for (const fact of lock.observations) {
    if (fact.fact !== 'lock-state') continue;
    const at = history.timeOf(fact);
    const seen = open.get(fact.process);
    const identity = fact.absent === true ? undefined : recordIdentity(fact.owner, fact.fence);
    if (seen !== undefined && seen.identity === identity) {
      open.set(fact.process, { ...seen, endNs: seen.lastNs, lastNs: at });
      continue;
    }
    if (seen !== undefined) done.push(seen);
    open.delete(fact.process);
    if (identity === undefined) continue;
    const name = `the record of ${fact.owner ?? '?'}`;
    open.set(fact.process, {
      identity,
      name,
      startNs: at,
      endNs: at,
      lastNs: at,
      seqs: [fact.seq],
    });
  }
  return [...done, ...open.values()];
}

/** One record on the service: owner and token together. Undefined when the owner is not known. */
export function recordIdentity(
  owner: string | undefined,
  fence: bigint | undefined,
): string | undefined {
  return owner === undefined ? undefined : `${fence ?? ''} ${owner}`;
}
