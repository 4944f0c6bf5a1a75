/**
 * Each effect at most once: by its idempotency key, an order closed once, stock released once. The
 * resource's ledger decides; replies alone convict (two counted ones) but never acquit.
 */
import type { ObservationEvent } from '../domain/event.ts';
import { arrived, ledgerReads, rowCounts } from './attempts.ts';
import type { Checker } from './checker.ts';
import { count, perLock, type Findings } from './conclude.ts';
import type { Attempt, LockHistory } from './history.ts';
import { lastSeq } from './witness.ts';

/** What is counted: the key of a row or attempt, or undefined where it is none of this kind. */
type KeyOf = (what: {
  readonly effectId?: string;
  readonly business?: string;
  readonly subject?: string;
}) => string | undefined;

export const effectAtMostOnce = onceChecker(
  'effect-at-most-once',
  'each effect id counts at most once',
  'effect',
  ({ effectId }) => effectId,
);

export const orderClosedOnce = onceChecker(
  'order-closed-once',
  'no order is closed twice',
  'order',
  ({ business, subject }) => (business === 'close-order' ? subject : undefined),
);

export const stockReleasedOnce = onceChecker(
  'stock-released-once',
  'no stock is released twice',
  'item',
  ({ business, subject }) => (business === 'release-stock' ? subject : undefined),
);

/** Everything about one key; `reads` are the complete readings of its lock's ledgers. */
interface Subject {
  readonly attempts: Attempt[];
  readonly rows: ObservationEvent[];
  readonly reads: readonly ObservationEvent[];
}

function onceChecker(name: string, title: string, noun: string, keyOf: KeyOf): Checker {
  return {
    name,
    title,
    check: (history, spec) => perLock(history, spec, (lock) => judgeOnce(lock, noun, keyOf)),
  };
}

function judgeOnce(lock: LockHistory, noun: string, keyOf: KeyOf): Findings {
  const subjects = collect(lock, keyOf);
  let exercised = 0;
  let violation: Findings['violation'];
  let doubt: string | undefined;
  for (const [key, subject] of subjects) {
    const tries = subject.attempts.filter(arrived).length;
    exercised += Math.max(0, tries - 1);
    const twice = countedTwice(subject);
    if (twice !== undefined) {
      violation ??= {
        witness: twice.slice(0, 2),
        note: `${noun} "${key}" counted ${twice.length} times`,
      };
    } else if (tries > 1 || subject.attempts.some(({ fate }) => fate === 'maybe')) {
      doubt ??= unsettled(noun, key, subject);
    }
  }
  return {
    violation,
    doubt,
    exercised,
    held: `${count(subjects.size, noun)}, ${count(exercised, 'further attempt')}, none counted twice`,
    idle:
      subjects.size === 0
        ? `the history has no ${noun} of this kind`
        : `each ${noun} was attempted once only`,
  };
}

function collect(lock: LockHistory, keyOf: KeyOf): ReadonlyMap<string, Subject> {
  const subjects = new Map<string, Subject>();
  const reads = ledgerReads(lock);
  const at = (key: string): Subject => {
    const seen = subjects.get(key) ?? { attempts: [], rows: [], reads };
    subjects.set(key, seen);
    return seen;
  };
  for (const attempt of lock.attempts) {
    const key = keyOf(attempt.operation.invoke);
    if (key !== undefined) at(key).attempts.push(attempt);
  }
  for (const fact of lock.observations) {
    const key = fact.fact === 'effect-row' && rowCounts(fact) ? keyOf(fact) : undefined;
    if (key !== undefined) at(key).rows.push(fact);
  }
  return subjects;
}

/** Two rows of one reading of the ledger; without a ledger, two counted replies. */
function countedTwice(subject: Subject): readonly number[] | undefined {
  const rows = distinctRows(subject);
  if (rows.length > 1) return rows.map(({ seq }) => seq);
  const counted = subject.attempts.filter(({ fate }) => fate === 'counted');
  const first = subject.attempts[0]?.operation.invoke.seq ?? -1;
  if (counted.length < 2 || rows.length > 0 || readAfter(subject, first)) return undefined;
  return counted.flatMap(({ seqs }) => seqs);
}

/**
 * A ledger may be read several times: rows with one place in its order are one row. Rows without
 * an order can only be told apart within one reading, which `read-to-end` closes.
 */
function distinctRows({ rows, reads }: Subject): readonly ObservationEvent[] {
  const ordered = new Map<bigint, ObservationEvent>();
  const byReading = new Map<number | undefined, ObservationEvent[]>();
  for (const row of rows) {
    if (row.order !== undefined) {
      if (!ordered.has(row.order)) ordered.set(row.order, row);
      continue;
    }
    const reading = reads.find(({ seq }) => seq > row.seq)?.seq;
    const list = byReading.get(reading);
    if (list === undefined) byReading.set(reading, [row]);
    else list.push(row);
  }
  return [[...ordered.values()], ...byReading.values()].reduce((most, next) =>
    next.length > most.length ? next : most,
  );
}

/** Why the verdict is open: the ledger was not read afterwards, or does not settle an attempt. */
function unsettled(noun: string, key: string, subject: Subject): string | undefined {
  const { attempts, rows } = subject;
  const lastReply = attempts.reduce(
    (latest, { operation }) => Math.max(latest, lastSeq(operation)),
    -1,
  );
  if (!readAfter(subject, lastReply) && !rows.some(({ seq }) => seq > lastReply)) {
    return `${noun} "${key}": no ledger was read after its last attempt`;
  }
  if (attempts.some(({ fate }) => fate === 'maybe')) {
    return `possible violation: ${noun} "${key}" has an attempt that nobody settled`;
  }
  const counted = attempts.filter(({ fate }) => fate === 'counted').length;
  return counted > 1 ? `${noun} "${key}": replies and ledger disagree` : undefined;
}

/** Whether the resource's ledger was read to its end after `seq`. */
function readAfter({ attempts, reads }: Subject, seq: number): boolean {
  const resource = attempts[0]?.operation.invoke.resource;
  return reads.some(
    (read) => read.seq > seq && (resource === undefined || read.resource === resource),
  );
}
