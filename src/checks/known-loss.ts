/**
 * No new step is begun after the holder was told that it lost the lock, or after its own deadline.
 * A holder that outlives its lease and begins nothing is a remark, not a test.
 */
import { isBusiness } from './attempts.ts';
import type { Checker } from './checker.ts';
import { count, formatNs, perLock, type Findings } from './conclude.ts';
import type { Grant, LockHistory, Operation } from './history.ts';
import { grantName, lastSeq } from './witness.ts';

export const noWorkAfterKnownLoss: Checker = {
  name: 'no-work-after-known-loss',
  title: 'no step is begun after the lease was known lost or past its deadline',
  check: (history, spec) => perLock(history, spec, judge),
};

function judge(lock: LockHistory): Findings {
  let violation: Findings['violation'];
  const actedAfterLoss = new Set<Grant>();
  for (const operation of lock.operations) {
    const { grant } = operation;
    if (grant === undefined || operation === grant.proof) continue;
    if (operation.startNs > grant.lossNs) actedAfterLoss.add(grant);
    if (isWork(operation)) violation ??= begunTooLate(operation, grant);
  }
  const { overrun, remarks } = overruns(lock);
  return {
    violation,
    exercised: actedAfterLoss.size,
    held: `${count(actedAfterLoss.size, 'holder')} went on after a loss it knew of, and began no work`,
    idle:
      overrun === 0
        ? 'no holder learned of a loss or outlived its lease'
        : 'no work was begun or committed outside a lease',
    remarks,
  };
}

function isWork({ invoke, complete }: Operation): boolean {
  // A worker that checked and refused by itself began nothing.
  if (complete?.code === 'self-check') return false;
  return isBusiness(invoke.action);
}

function begunTooLate(operation: Operation, grant: Grant): Findings['violation'] {
  const { startNs, invoke } = operation;
  const what = invoke.business ?? invoke.action;
  if (startNs > grant.lossNs && grant.lossSeq !== undefined) {
    return {
      witness: [grant.lossSeq, invoke.seq],
      note: `${invoke.worker} began ${what} ${formatNs(startNs - grant.lossNs)} after it was told of its loss`,
    };
  }
  if (startNs <= grant.validUntilNs) return undefined;
  const renewal = grant.renewals.at(-1);
  return {
    witness: [lastSeq(renewal ?? grant.proof), invoke.seq],
    note: `${invoke.worker} began ${what} ${formatNs(startNs - grant.validUntilNs)} past its own deadline`,
  };
}

/** Holders that released only after their lease had ended, and who held the lock meanwhile. */
function overruns(lock: LockHistory): { overrun: number; remarks: readonly string[] } {
  let overrun = 0;
  let first: string | undefined;
  for (const grant of lock.grants) {
    const endNs = grant.release?.startNs;
    if (endNs === undefined || endNs <= grant.validUntilNs) continue;
    overrun += 1;
    first ??= overrunNote(lock, grant, endNs);
  }
  return { overrun, remarks: first === undefined ? [] : [first] };
}

function overrunNote(lock: LockHistory, grant: Grant, endNs: number): string {
  const next = lock.grants[grant.index + 1];
  const outlived = `${grantName(grant)} outlived its lease by ${formatNs(endNs - grant.validUntilNs)}`;
  if (next === undefined || next.grantedNs >= endNs) return `${outlived}, with nobody else holding`;
  const alone = Math.max(0, next.grantedNs - grant.validUntilNs);
  const together = endNs - Math.max(next.grantedNs, grant.validUntilNs);
  return `${outlived}: ${formatNs(alone)} without a lease, then ${formatNs(together)} beside ${grantName(next)}`;
}
