/**
 * Progress after healing: once the last fault is proven undone, somebody who may gets the lock or
 * gets work accepted within a bound.
 */
import type { InvariantSpec } from '../domain/scenario.ts';
import type { Checker } from './checker.ts';
import { formatNs, perLock, spanNs, type Findings } from './conclude.ts';
import type { HistoryIndex, LockHistory, Operation } from './history.ts';

export const progress: Checker = {
  name: 'progress',
  title: 'after the last fault, somebody gets on within the bound',
  check: (history, spec) => perLock(history, spec, (lock) => judge(history, lock, spec)),
};

const defaultSpan = { leaseFactor: 3, addMs: 0 };

function judge(history: HistoryIndex, lock: LockHistory, spec: InvariantSpec): Findings {
  const idle = { exercised: 0, held: '', idle: 'no fault ended in this history' };
  if (history.faults.length === 0) return idle;
  const unproven = unhealed(history);
  if (unproven !== undefined) return { ...idle, doubt: unproven };
  const healed = history.faults.reduce((last, fault) => (fault.seq > last.seq ? fault : last));
  const startNs = history.timeOf(healed);
  const boundNs = spanNs(spec.within ?? defaultSpan, longestLease(lock));
  if (boundNs === undefined)
    return { ...idle, doubt: 'no lease is known, so the bound is not either' };
  const deadline = startNs + boundNs;
  const tries = lock.operations.filter(
    (one) =>
      one.startNs <= deadline &&
      mayProgress(one) &&
      // Begun before and refused says nothing about the time after.
      (one.startNs >= startNs || (succeeded(one) && one.replyNs >= startNs)),
  );
  const first = tries.filter(succeeded).sort((a, b) => a.replyNs - b.replyNs)[0];
  const inTime = first !== undefined && first.replyNs <= deadline;
  return {
    ...(inTime || tries[0] === undefined
      ? {}
      : stalled(history.endNs >= deadline, [healed.seq, tries[0].invoke.seq], boundNs)),
    exercised: tries.length,
    held: `first success ${formatNs((first?.replyNs ?? startNs) - startNs)} after the last fault's end`,
    idle: 'nobody asked for anything within the bound after the last fault',
  };
}

function stalled(
  over: boolean,
  witness: readonly number[],
  boundNs: number,
): Pick<Findings, 'violation' | 'doubt'> {
  const note = `nothing succeeded within ${formatNs(boundNs)} of the last fault's end`;
  return over
    ? { violation: { witness, note } }
    : { doubt: 'the history ends before anything succeeded and before the bound was over' };
}

/** Liveness is judged only after faults proven undone. */
function unhealed(history: HistoryIndex): string | undefined {
  const ended = new Set<string>();
  for (const { phase, faultId, fault, evidence } of history.faults) {
    if (phase !== 'end') continue;
    ended.add(faultId);
    const wrong = evidence.find(({ holds }) => !holds);
    if (wrong !== undefined) return `the end of ${fault} is not proven: ${wrong.fact}`;
  }
  const open = history.faults.find(({ faultId }) => !ended.has(faultId));
  return open && `the fault ${open.fault} did not end`;
}

/** An acquire, or work of a holder that nobody has replaced: refusing the others is right. */
function mayProgress({ invoke, grant, startNs }: Operation): boolean {
  if (invoke.action === 'acquire') return true;
  if (['release', 'confirm', 'renew'].includes(invoke.action)) return false;
  return grant !== undefined && startNs < grant.endNs;
}

function succeeded({ outcome, complete }: Operation): boolean {
  return outcome === 'ok' && complete?.accepted !== false;
}

function longestLease(lock: LockHistory): number | undefined {
  const leases = lock.grants.flatMap(({ leaseMs }) => (leaseMs === undefined ? [] : [leaseMs]));
  return leases.length === 0 ? undefined : leases.reduce((a, b) => Math.max(a, b));
}
