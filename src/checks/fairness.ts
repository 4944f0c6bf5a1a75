/**
 * Fairness: a waiter is overtaken at most `bound` times (0: first come, first served). Nobody outside
 * the service knows when a request joined the queue, so only those count as overtaking that were
 * asked for `graceMs` after the waiter asked, and were granted before it.
 */
import { UsageError } from '../domain/errors.ts';
import type { InvariantSpec } from '../domain/scenario.ts';
import type { Checker } from './checker.ts';
import { count, perLock, type Findings } from './conclude.ts';
import type { Grant, HistoryIndex, LockHistory, Operation } from './history.ts';
import { isBusy } from './false-busy.ts';
import { lastSeq } from './witness.ts';

export const fairness: Checker = {
  name: 'fairness',
  title: 'no waiter is overtaken more often than the bound (option bound, default 0)',
  onRequest: true,
  check: (history, spec) => {
    const bound = option(spec, 'bound', 0);
    const graceNs = option(spec, 'graceMs', 100) * 1e6;
    return perLock(history, spec, (lock) => judge(history, lock, bound, graceNs));
  },
};

function option({ options }: InvariantSpec, name: string, otherwise: number): number {
  const value = options[name] ?? otherwise;
  if (typeof value === 'number' && value >= 0) return value;
  throw new UsageError(`fairness: ${name} is ${String(value)}, and must be a number from 0 up`, {
    code: 'bad-option',
    hint: `e.g. fairness: { ${name}: ${otherwise} }`,
    definite: true,
  });
}

function judge(history: HistoryIndex, lock: LockHistory, bound: number, graceNs: number): Findings {
  const waits = waitsOf(history, lock, graceNs);
  const times = overtakings(waits, lock.grants);
  let worst = 0;
  let violation: Findings['violation'];
  let doubt: string | undefined;
  waits.forEach((wait, at) => {
    const overtaken = times[at] ?? 0;
    worst = Math.max(worst, overtaken);
    if (overtaken <= bound) return;
    const { worker } = wait.operation.invoke;
    const note = `${worker} was overtaken ${count(overtaken, 'time')} while it waited; the bound is ${bound}`;
    const disturbed = disturbance(history, wait);
    if (disturbed !== undefined) doubt ??= `possible violation: ${note}, but ${disturbed}`;
    else violation ??= { witness: witnessOf(wait, lock.grants, bound), note };
  });
  return {
    violation,
    doubt,
    exercised: waits.length,
    held: `${count(waits.length, 'waiter')}, overtaken at most ${count(worst, 'time')}`,
    idle: 'nobody waited long enough to be overtaken',
  };
}

interface Wait {
  readonly operation: Operation;
  /** From here on its request surely stood in the queue, unless something held it up. */
  readonly queuedNs: number;
  /** Granted, refused, or given up. */
  readonly untilNs: number;
}

function waitsOf(history: HistoryIndex, lock: LockHistory, graceNs: number): readonly Wait[] {
  return lock.operations.flatMap((operation) => {
    const { invoke, outcome, startNs, complete } = operation;
    const waited = outcome !== 'fail' || isBusy(operation);
    if (invoke.action !== 'acquire' || !waited) return [];
    const untilNs = complete === undefined ? history.endNs : history.timeOf(complete);
    const queuedNs = startNs + graceNs;
    return untilNs > queuedNs ? [{ operation, queuedNs, untilNs }] : [];
  });
}

/** For each wait, how many grants were asked for after it was queued and given before it ended. */
function overtakings(waits: readonly Wait[], grants: readonly Grant[]): readonly number[] {
  // From the last wait to the first, grants asked for later than it are all in the tree.
  const order = waits.map((_, at) => at).sort((a, b) => queued(waits, b) - queued(waits, a));
  const byStart = [...grants].sort((a, b) => b.startNs - a.startNs);
  const given = new CountBelow(grants.map(({ grantedNs }) => grantedNs));
  const times = new Array<number>(waits.length).fill(0);
  let added = 0;
  for (const at of order) {
    const wait = waits[at];
    if (wait === undefined) continue;
    for (let next = byStart[added]; next !== undefined; next = byStart[added]) {
      if (next.startNs <= wait.queuedNs) break;
      given.add(next.grantedNs);
      added += 1;
    }
    times[at] = given.below(wait.untilNs);
  }
  return times;
}

function queued(waits: readonly Wait[], at: number): number {
  return waits[at]?.queuedNs ?? 0;
}

/** The waiter and the fewest grants that are too many. */
function witnessOf(wait: Wait, grants: readonly Grant[], bound: number): readonly number[] {
  const passed = grants.filter(
    ({ startNs, grantedNs }) => startNs > wait.queuedNs && grantedNs < wait.untilNs,
  );
  const few = passed.slice(0, bound + 1).flatMap(({ proof }) => [proof.invoke.seq, lastSeq(proof)]);
  return [wait.operation.invoke.seq, ...few];
}

/** A fault on the waiter may have kept its request from the queue. */
function disturbance(history: HistoryIndex, { operation, untilNs }: Wait): string | undefined {
  const { worker, process } = operation.invoke;
  const fault = history.faults.find(
    (one) =>
      one.phase === 'begin' &&
      (one.target === undefined || one.target === worker || one.target === process) &&
      history.timeOf(one) < untilNs,
  );
  if (fault !== undefined) return `the fault ${fault.fault} may have held up its request`;
  return operation.outcome === 'unknown' ? 'its request may never have arrived' : undefined;
}

/** How many of the instants added so far lie below another, in O(log n): a Fenwick tree. */
class CountBelow {
  readonly #sorted: Float64Array;
  readonly #tree: Uint32Array;

  constructor(instants: readonly number[]) {
    this.#sorted = Float64Array.from(instants).sort();
    this.#tree = new Uint32Array(instants.length + 1);
  }

  add(instant: number): void {
    for (let at = this.#rank(instant) + 1; at < this.#tree.length; at += at & -at) {
      this.#tree[at] = (this.#tree[at] ?? 0) + 1;
    }
  }

  below(instant: number): number {
    let sum = 0;
    for (let at = this.#rank(instant); at > 0; at -= at & -at) sum += this.#tree[at] ?? 0;
    return sum;
  }

  /** How many of all instants lie below. */
  #rank(instant: number): number {
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#sorted[middle] ?? Infinity) < instant) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
