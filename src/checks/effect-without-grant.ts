/** No work counts whose worker had no grant at the time: never asked, not yet granted, or released. */
import type { Checker } from './checker.ts';
import { count, perLock, type Findings } from './conclude.ts';
import type { Attempt, LockHistory } from './history.ts';

type Violation = NonNullable<Findings['violation']>;

export const noEffectWithoutGrant: Checker = {
  name: 'no-effect-without-grant',
  title: 'work counts only under a grant that was given and not released',
  check: (history, spec) => perLock(history, spec, judge),
};

function judge(lock: LockHistory): Findings {
  const asked = new Set<string>();
  for (const { invoke, outcome } of lock.operations) {
    if (invoke.action === 'acquire' && outcome === 'unknown') asked.add(invoke.worker);
  }
  const faults = lock.attempts.flatMap((attempt) => {
    const fault = ungranted(attempt);
    return fault === undefined ? [] : [{ fault, sure: isSure(attempt, asked) }];
  });
  const counted = lock.attempts.filter(({ fate }) => fate === 'counted').length;
  const possible = faults.find(({ sure }) => !sure);
  return {
    violation: faults.find(({ sure }) => sure)?.fault,
    doubt: possible && `possible violation: ${possible.fault.note}`,
    exercised: counted,
    held: `${count(counted, 'accepted step')}, each under a grant`,
    idle: 'no work was accepted',
  };
}

/** Not sure: the work may not have counted, or a grant may exist whose reply was lost. */
function isSure({ fate, operation }: Attempt, asked: ReadonlySet<string>): boolean {
  const maybeGranted = operation.grant === undefined && asked.has(operation.invoke.worker);
  return fate === 'counted' && !maybeGranted;
}

function ungranted({ operation, seqs, fate }: Attempt): Violation | undefined {
  if (fate !== 'counted' && fate !== 'maybe') return undefined;
  const { grant, invoke, startNs } = operation;
  const what = `${invoke.worker}'s ${invoke.business ?? invoke.action}`;
  if (grant === undefined) return { witness: seqs, note: `${what} counted without any grant` };
  if (startNs < grant.startNs) {
    return { witness: [...seqs, grant.proof.invoke.seq], note: `${what} began before its grant` };
  }
  const { release } = grant;
  if (release === undefined || startNs <= release.startNs || release.outcome === 'fail') {
    return undefined;
  }
  return {
    witness: [release.invoke.seq, invoke.seq, ...seqs],
    note: `${what} began after ${grant.worker} had released the lock`,
  };
}
