/**
 * A refused try ("busy") needs somebody who may have held the lock meanwhile: a known grant, from
 * its acquire's invocation to its release's reply, an acquire whose reply was lost, or one that took
 * the lock and gave it back before it failed. A false refusal costs availability, not safety, so this is judged only when asked for.
 */
import type { Checker } from './checker.ts';
import { count, perLock, type Findings } from './conclude.ts';
import type { Grant, LockHistory, Operation } from './history.ts';
import { IntervalList, type Interval } from './interval-list.ts';
import { bothSeqs } from './witness.ts';

export const noFalseBusy: Checker = {
  name: 'no-false-busy',
  title: 'an acquire is refused only while somebody may hold the lock',
  onRequest: true,
  check: (history, spec) => perLock(history, spec, judge),
};

const busyCodes: ReadonlySet<string> = new Set(['busy', 'held', 'locked']);

/** Whether this acquire was refused because of another holder. */
export function isBusy({ invoke, outcome, complete }: Operation): boolean {
  return (
    invoke.action === 'acquire' && outcome === 'fail' && busyCodes.has(complete?.code ?? 'busy')
  );
}

/** Codes of an acquire that failed although its record was there until it was taken back. */
const takenBackCodes: ReadonlySet<string> = new Set(['too-few-replicas']);

function wasTakenBack({ invoke, outcome, complete }: Operation): boolean {
  return (
    invoke.action === 'acquire' && outcome === 'fail' && takenBackCodes.has(complete?.code ?? '')
  );
}

function judge(lock: LockHistory): Findings {
  const refusals = lock.operations.filter(isBusy);
  if (lock.shared) return judgeShared(lock, refusals);
  const holds = lock.grants.map((grant) => possibleHold(lock, grant));
  const leased = new IntervalList(
    holds.map((hold) => ({ ...hold, to: Math.min(hold.to, leaseLimit(hold.value)) })),
  );
  const unended = new IntervalList(holds);
  const takenBack = new IntervalList(
    lock.operations
      .filter(wasTakenBack)
      .map((one) => ({ from: one.startNs, to: one.replyNs, value: one })),
  );
  const meets = (holds: IntervalList<unknown>, one: Operation): boolean =>
    // Closed intervals: to touch is to meet.
    holds.firstMeeting(one.startNs - 1, one.replyNs + 1) !== undefined;
  const alone = refusals.filter((one) => !meets(leased, one) && !meets(takenBack, one));
  const late = alone.filter((one) => meets(unended, one));
  const unexplained = unmatched(
    lock,
    holds.map(({ from }) => from),
    alone.filter((one) => !meets(unended, one)),
  );
  return {
    violation: unexplained && {
      witness: bothSeqs(unexplained),
      note: `${unexplained.invoke.worker} was refused although nobody can have held the lock`,
    },
    doubt:
      late.length === 0
        ? undefined
        : `possible violation: ${count(late.length, 'refusal')} after the last lease must have ended`,
    exercised: refusals.length,
    held: `${count(refusals.length, 'refusal')}, each with a possible holder`,
    idle: 'no acquire was refused',
  };
}

/**
 * A reader is refused for a writer, a writer for anybody. Whether two of them could have been there
 * one after the other is not asked: a refusal called wrong is wrong, one let pass may be. Which permits of a semaphore were possibly
 * out at once is not counted: its refusals are not judged.
 */
function judgeShared(lock: LockHistory, all: readonly Operation[]): Findings {
  const refusals = all.filter(({ invoke }) => invoke.limit === undefined);
  const readers = possibleHolds(lock, true);
  const writers = possibleHolds(lock, false);
  const alone = refusals.find(({ invoke, startNs, replyNs }) =>
    (invoke.mode === 'shared' ? [writers] : [writers, readers]).every(
      (holds) => holds.firstMeeting(startNs - 1, replyNs + 1) === undefined,
    ),
  );
  return {
    violation: alone && {
      witness: bothSeqs(alone),
      note: `${alone.invoke.worker} was refused although nobody in its way can have held the lock`,
    },
    exercised: refusals.length,
    held: `${count(refusals.length, 'refusal')}, each with a possible holder in its way`,
    idle: 'no acquire of a read or write lock was refused',
  };
}

/** From an acquire's invocation to the reply of its release: as long as anybody may have held. */
function possibleHolds(lock: LockHistory, shared: boolean): IntervalList<Operation> {
  const ends = new Map(lock.grants.map(({ proof, release }) => [proof, release]));
  return new IntervalList(
    lock.operations
      .filter(({ invoke, outcome }) => invoke.action === 'acquire' && outcome !== 'fail')
      .filter(({ invoke }) => (invoke.mode === 'shared') === shared)
      .map((value) => {
        const release = ends.get(value);
        const to = release?.outcome === 'ok' ? release.replyNs : Infinity;
        return { from: value.startNs, to, value };
      }),
  );
}

/**
 * From the acquire's invocation to the release's reply, but not before the grant before it was
 * surely held, and not after the next one was granted.
 */
function possibleHold(lock: LockHistory, grant: Grant): Interval<Grant> {
  const released = grant.release?.outcome === 'ok' ? grant.release.replyNs : Infinity;
  const next = lock.grants[grant.index + 1]?.grantedNs ?? Infinity;
  const before = lock.grants[grant.index - 1]?.endNs ?? -Infinity;
  const from = Math.min(Math.max(grant.startNs, before), grant.grantedNs);
  return { from, to: Math.max(from + 1, Math.min(released, next)), value: grant };
}

/** A lease counts at the latest from the reply that gave or renewed it. */
function leaseLimit(grant: Grant): number {
  if (grant.leaseMs === undefined) return Infinity;
  const given = grant.renewals.at(-1)?.replyNs ?? grant.grantedNs;
  return given + grant.leaseMs * 1e6;
}

/**
 * Refusals that met no known grant lie in gaps between grants. One lost acquire, invoked before
 * any refusal of a gap was answered, explains that whole gap and no other; so with the gaps in
 * order of their first answer, the k-th needs k lost acquires begun by then.
 */
function unmatched(
  lock: LockHistory,
  holdsFrom: readonly number[],
  alone: readonly Operation[],
): Operation | undefined {
  const starts = [...holdsFrom].sort((a, b) => a - b);
  const gaps = new Map<number, Operation>();
  for (const refusal of alone) {
    const gap = countUpTo(starts, refusal.startNs);
    const first = gaps.get(gap);
    if (first === undefined || refusal.replyNs < first.replyNs) gaps.set(gap, refusal);
  }
  const lost = lock.operations
    .filter(({ invoke, outcome }) => invoke.action === 'acquire' && outcome === 'unknown')
    .map(({ startNs }) => startNs)
    .sort((a, b) => a - b);
  const inOrder = [...gaps.values()].sort((a, b) => a.replyNs - b.replyNs);
  return inOrder.find((refusal, index) => countUpTo(lost, refusal.replyNs) < index + 1);
}

/** How many of the sorted numbers are at most `limit`. */
function countUpTo(sorted: readonly number[], limit: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? Infinity) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
