/** A checkpoint of an older attempt at a task is refused once a newer attempt's has been accepted. */
import type { Checker } from './checker.ts';
import { count, perLock, type Findings } from './conclude.ts';
import type { Attempt, LockHistory } from './history.ts';
import { findInversion, type Ranked } from './ranked-order.ts';

interface Checkpoint extends Ranked {
  readonly attempt: Attempt;
}

export const staleCheckpointRefused: Checker = {
  name: 'stale-checkpoint-refused',
  title: "an older attempt's checkpoint is refused after a newer attempt's was accepted",
  check: (history, spec) => perLock(history, spec, judge),
};

function judge(lock: LockHistory): Findings {
  const tasks = new Map<string, Checkpoint[]>();
  for (const attempt of lock.attempts) {
    if (attempt.operation.invoke.action !== 'checkpoint') continue;
    const list = tasks.get(attempt.row);
    if (list === undefined) tasks.set(attempt.row, [checkpoint(attempt)]);
    else list.push(checkpoint(attempt));
  }
  let exercised = 0;
  let violation: Findings['violation'];
  let doubt: string | undefined;
  for (const task of tasks.values()) {
    const counted = task.filter(({ attempt }) => attempt.fate === 'counted');
    const found = findInversion(counted);
    violation ??= found && {
      witness: [...found.newer.attempt.seqs, ...found.older.attempt.seqs],
      note: `a checkpoint of attempt ${found.older.rank} was accepted after one of attempt ${found.newer.rank}`,
    };
    const possible = findInversion(
      task.filter(({ attempt }) => attempt.fate === 'counted' || attempt.fate === 'maybe'),
    );
    if (possible !== undefined) {
      doubt ??= `possible violation: the reply to a checkpoint of attempt ${possible.older.rank} was lost`;
    }
    exercised += staleRefusals(task);
  }
  return {
    violation,
    doubt,
    exercised,
    held: `${count(exercised, 'older checkpoint')} arrived after a newer one, and each was refused`,
    idle: 'no checkpoint of an older attempt arrived after a newer one had been accepted',
  };
}

function checkpoint(attempt: Attempt): Checkpoint {
  const { startNs, replyNs, invoke } = attempt.operation;
  const { row, version } = attempt;
  return { rank: BigInt(invoke.attempt), startNs, replyNs, row, version, attempt };
}

/** Refused checkpoints of an attempt older than one accepted before their reply. */
function staleRefusals(task: readonly Checkpoint[]): number {
  const newestFirst = [...task].sort((a, b) => Number(b.rank - a.rank));
  let refused = 0;
  let earliestNewer = Infinity;
  let pending = Infinity;
  let rank: bigint | undefined;
  for (const one of newestFirst) {
    if (one.rank !== rank) [earliestNewer, rank] = [pending, one.rank];
    if (one.attempt.fate === 'counted') pending = Math.min(pending, one.startNs);
    if (one.attempt.fate === 'refused' && earliestNewer < one.replyNs) refused += 1;
  }
  return refused;
}
