/**
 * No write with an older token is accepted once a newer one has been: the fenced register. A refusal
 * that nothing explains costs availability, not safety: it is a remark.
 */
import type { Checker } from './checker.ts';
import { count, perLock, type Findings } from './conclude.ts';
import type { Attempt, LockHistory } from './history.ts';
import { compare, findInversion, type Ranked } from './ranked-order.ts';

interface FencedAttempt extends Ranked {
  readonly attempt: Attempt;
}

export const noStaleWriteAccepted: Checker = {
  name: 'no-stale-write-accepted',
  title: 'the resource accepts no write with an older token after a newer one',
  check: (history, spec) => perLock(history, spec, judge),
};

function judge(lock: LockHistory): Findings {
  const attempts = lock.attempts;
  const rows = new Map<string, FencedAttempt[]>();
  for (const attempt of attempts) {
    const fenced = fencedAttempt(attempt);
    if (fenced === undefined) continue;
    const list = rows.get(fenced.row);
    if (list === undefined) rows.set(fenced.row, [fenced]);
    else list.push(fenced);
  }
  let exercised = 0;
  let falseRefusals = 0;
  let doubt: string | undefined;
  let violation: Findings['violation'];
  for (const row of rows.values()) {
    violation ??= staleIn(row) ?? sharedToken(row);
    doubt ??= possiblyStale(row);
    const refusals = explainRefusals(row);
    exercised += refusals.stale;
    falseRefusals += refusals.unexplained;
  }
  const unfenced = attempts.length > 0 && rows.size === 0;
  return {
    violation,
    doubt,
    exercised,
    held: `${count(exercised, 'older write')} arrived after a newer one, and each was refused`,
    idle: unfenced
      ? 'writes carry no token'
      : 'no write with an older token arrived after a newer one had been accepted',
    remarks:
      falseRefusals === 0
        ? []
        : [`${count(falseRefusals, 'refusal')} as stale that no newer write explains`],
  };
}

function fencedAttempt(attempt: Attempt): FencedAttempt | undefined {
  if (attempt.fence === undefined) return undefined;
  const { startNs, replyNs } = attempt.operation;
  const { fence: rank, row, version } = attempt;
  return { rank, startNs, replyNs, row, version, attempt };
}

function staleIn(row: readonly FencedAttempt[]): Findings['violation'] {
  const found = findInversion(row.filter(({ attempt }) => attempt.fate === 'counted'));
  if (found === undefined) return undefined;
  const { newer, older } = found;
  return {
    witness: [...newer.attempt.seqs, ...older.attempt.seqs],
    note: `token ${older.rank} of ${who(older)} was accepted after token ${newer.rank} of ${who(newer)}`,
  };
}

/** Two owners under one token: the resource could not have told them apart. */
function sharedToken(row: readonly FencedAttempt[]): Findings['violation'] {
  const byToken = new Map<bigint, FencedAttempt>();
  for (const one of row) {
    if (one.attempt.fate !== 'counted') continue;
    const first = byToken.get(one.rank);
    if (first === undefined) byToken.set(one.rank, one);
    else if (owner(first) !== owner(one)) {
      return {
        witness: [...first.attempt.seqs, ...one.attempt.seqs],
        note: `token ${one.rank} was accepted from ${who(first)} and from ${who(one)}`,
      };
    }
  }
  return undefined;
}

function possiblyStale(row: readonly FencedAttempt[]): string | undefined {
  const found = findInversion(
    row.filter(({ attempt }) => attempt.fate === 'counted' || attempt.fate === 'maybe'),
  );
  if (found === undefined) return undefined;
  return `possible violation: the reply to ${who(found.older)} with the older token ${found.older.rank} was lost, and no ledger settles it`;
}

/**
 * A refusal of token t needs a write with a larger token (or the same one of another owner),
 * accepted or possibly accepted, that was invoked before the refusal's reply.
 */
function explainRefusals(row: readonly FencedAttempt[]): { stale: number; unexplained: number } {
  const sorted = [...row].sort((a, b) => compare(b.rank, a.rank));
  let stale = 0;
  let unexplained = 0;
  let earliest = { startNs: Infinity, sure: Infinity };
  let pending = earliest;
  let rank: bigint | undefined;
  for (const { rank: token, attempt } of sorted) {
    if (token !== rank) [earliest, rank] = [pending, token];
    const { startNs, replyNs, complete } = attempt.operation;
    if (attempt.fate === 'counted' || attempt.fate === 'maybe') {
      pending = {
        startNs: Math.min(pending.startNs, startNs),
        sure: attempt.fate === 'counted' ? Math.min(pending.sure, startNs) : pending.sure,
      };
    }
    if (attempt.fate !== 'refused') continue;
    if (earliest.sure < replyNs) stale += 1;
    else if ((complete?.code ?? '').startsWith('stale') && earliest.startNs >= replyNs) {
      unexplained += 1;
    }
  }
  return { stale, unexplained };
}

function owner({ attempt }: FencedAttempt): string {
  return attempt.owner ?? attempt.operation.invoke.worker;
}

function who({ attempt }: FencedAttempt): string {
  return attempt.operation.invoke.worker;
}
