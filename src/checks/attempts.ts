/**
 * What became of each attempt on the business resource: counted, refused, repeated, never arrived,
 * or nobody knows. An attempt whose reply was lost is settled by the resource's own ledger.
 */
import type { Action, ObservationEvent } from '../domain/event.ts';
import type { Attempt, Fate, LockHistory, Operation } from './history.ts';
import { lastSeq } from './witness.ts';

/** Business attempts among a lock's operations, in the order of their invocations. */
export function attemptsOf(
  operations: readonly Operation[],
  observations: readonly ObservationEvent[],
): readonly Attempt[] {
  const ledger = readLedger(observations);
  return operations
    .filter(({ invoke }) => isBusiness(invoke.action))
    .map((operation) => attemptOf(operation, ledger));
}

/** Whether the attempt surely arrived at the resource. */
export function arrived(attempt: Attempt): boolean {
  return attempt.fate === 'counted' || attempt.fate === 'refused' || attempt.fate === 'repeated';
}

/** Whether a ledger row is one counted effect. An effect's completion is the same effect again. */
export function rowCounts(row: ObservationEvent): boolean {
  return row.accepted !== false && row.business !== 'complete-effect';
}

/** The complete readings of ledgers, in order. */
export function ledgerReads(lock: LockHistory): readonly ObservationEvent[] {
  return lock.observations.filter(
    (fact) => fact.fact === 'read-to-end' && fact.resource !== undefined,
  );
}

interface Ledger {
  readonly rows: ReadonlyMap<string, readonly ObservationEvent[]>;
  /** Number of the last complete read, by resource; `undefined` is the last of any. */
  readonly readSeq: ReadonlyMap<string | undefined, number>;
}

/** Work on the protected resource; the other actions are on the lock. */
export function isBusiness(action: Action): boolean {
  return action === 'write' || action === 'effect' || action === 'checkpoint';
}

function readLedger(observations: readonly ObservationEvent[]): Ledger {
  const rows = new Map<string, ObservationEvent[]>();
  const readSeq = new Map<string | undefined, number>();
  for (const fact of observations) {
    if (fact.fact === 'read-to-end' && fact.resource !== undefined) {
      readSeq.set(fact.resource, fact.seq).set(undefined, fact.seq);
    }
    if (fact.fact !== 'effect-row' || fact.effectId === undefined) continue;
    const list = rows.get(fact.effectId);
    if (list === undefined) rows.set(fact.effectId, [fact]);
    else list.push(fact);
  }
  return { rows, readSeq };
}

function attemptOf(operation: Operation, ledger: Ledger): Attempt {
  const { invoke, complete, grant } = operation;
  const attempt: Attempt = {
    operation,
    fate: 'maybe',
    fence: invoke.fence ?? grant?.fence,
    owner: invoke.owner ?? grant?.owner,
    row: `${invoke.resource ?? ''}/${invoke.subject ?? ''}`,
    version: complete?.version,
    seqs: [lastSeq(operation)],
  };
  return operation.outcome === 'unknown'
    ? settle(attempt, ledger)
    : { ...attempt, fate: knownFate(operation) };
}

/** What the ledger says of an attempt whose reply was lost. */
function settle(attempt: Attempt, ledger: Ledger): Attempt {
  const { invoke } = attempt.operation;
  const row = matchingRow(attempt, ledger);
  if (row !== undefined) {
    const fate = row.accepted === false ? 'refused' : 'counted';
    return { ...attempt, fate, version: row.order, seqs: [row.seq] };
  }
  const read = ledger.readSeq.get(invoke.resource) ?? -1;
  const settled = invoke.effectId !== undefined && read > lastSeq(attempt.operation);
  return settled ? { ...attempt, fate: 'absent' } : attempt;
}

function knownFate({ outcome, complete }: Operation): Fate {
  const code = complete?.code ?? '';
  if (outcome === 'ok') {
    return complete?.accepted === false || code === 'duplicate' ? 'repeated' : 'counted';
  }
  const refused = complete?.accepted === false || code.startsWith('stale');
  return refused ? 'refused' : 'absent';
}

function matchingRow(attempt: Attempt, ledger: Ledger): ObservationEvent | undefined {
  const rows = ledger.rows.get(attempt.operation.invoke.effectId ?? '') ?? [];
  return rows.find(
    (row) =>
      (row.fence === undefined || row.fence === attempt.fence) &&
      (row.owner === undefined || row.owner === attempt.owner),
  );
}
