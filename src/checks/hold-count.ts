/**
 * Reentrant locks: the hold count that the service gives back is the one that its owner's own
 * operations add up to. A count too low frees the lock while its owner still needs it; one too
 * high leaves it locked for ever.
 */
import type { Checker } from './checker.ts';
import { count, perLock, type Findings } from './conclude.ts';
import type { Grant, LockHistory, Operation } from './history.ts';
import { grantName, lastSeq } from './witness.ts';

export const holdCount: Checker = {
  name: 'hold-count',
  title: "a reentrant lock counts its owner's acquires and releases right",
  onRequest: true,
  check: (history, spec) => perLock(history, spec, judge),
};

/** How often a grant may be held: both ends alike unless a reply was lost. */
interface Depth {
  readonly least: number;
  readonly most: number;
  /** Event that shows it. */
  readonly seq: number;
}

function judge(lock: LockHistory): Findings {
  const depths = new Map<Grant, Depth>();
  let violation: Findings['violation'];
  let nested = 0;
  for (const operation of lock.operations) {
    const { grant, invoke } = operation;
    if (grant === undefined || !(invoke.action === 'acquire' || invoke.action === 'release'))
      continue;
    const before = depths.get(grant);
    const expected = step(before, operation);
    const said = saidCount(operation);
    if (said !== undefined) {
      if (said > 1 || invoke.action === 'release') nested += 1;
      violation ??= miscounted(grant, operation, before, expected);
    }
    depths.set(grant, said === undefined ? expected : { ...expected, least: said, most: said });
  }
  return {
    violation,
    exercised: nested,
    held: `${nested} counts of nested acquires and releases, each right`,
    idle: 'no owner took the lock a second time, or the replies carry no hold count',
  };
}

function saidCount({ outcome, complete }: Operation): number | undefined {
  return outcome === 'ok' ? complete?.holdCount : undefined;
}

function miscounted(
  grant: Grant,
  operation: Operation,
  before: Depth | undefined,
  expected: Depth,
): Findings['violation'] {
  const said = saidCount(operation);
  if (said === undefined || (said >= expected.least && said <= expected.most)) return undefined;
  return {
    witness: [before?.seq ?? lastSeq(grant.proof), lastSeq(operation)],
    note: `after its ${operation.invoke.action} ${grantName(grant)} held the lock ${times(expected)}, but the service said ${said}`,
  };
}

function step(before: Depth | undefined, { invoke, outcome, ...operation }: Operation): Depth {
  const { least, most } = before ?? { least: 0, most: 0 };
  const seq = operation.complete?.seq ?? invoke.seq;
  if (outcome === 'fail') return { least, most, seq };
  if (invoke.action === 'acquire') {
    return { least: outcome === 'ok' ? least + 1 : least, most: most + 1, seq };
  }
  return {
    least: Math.max(0, least - 1),
    most: outcome === 'ok' ? Math.max(0, most - 1) : most,
    seq,
  };
}

function times({ least, most }: Depth): string {
  return least === most ? count(least, 'time') : `${least} to ${most} times`;
}
