/**
 * What the judge takes for granted about a history, as a check of its own: where it does not hold,
 * verdicts that rest on it are inconclusive, never held and never violated.
 */
import type { History, HistoryEvent } from '../domain/event.ts';
import type { CheckResult } from '../domain/verdict.ts';
import type { Grant, HistoryIndex, LockHistory, Operation } from './history.ts';

export const assumptionsName = 'assumptions';

export interface Assumptions {
  readonly result: CheckResult;
  /** Why no verdict at all can be trusted. */
  readonly broken: string | undefined;
  /** Locks whose verdicts cannot be trusted, with the reason. */
  readonly brokenLocks: ReadonlyMap<string, string>;
}

/** Longest history in which instants are exact numbers: 2^53 ns, 104 days. */
const longestNs = 2n ** 53n;

/** Checks the history's own rules. The result is `held` or `inconclusive`. */
export function checkAssumptions(history: History, index: HistoryIndex): Assumptions {
  const broken = brokenSequence(history.events) ?? tooLong(history.events);
  const brokenLocks = new Map<string, string>();
  const pairing = index.pairingProblem;
  for (const lock of index.locks.values()) {
    const reason =
      brokenConcurrency(lock.operations) ?? brokenClocks(lock.clocks) ?? sharedPermitOwner(lock);
    if (reason !== undefined) brokenLocks.set(lock.name, reason);
  }
  const retired = notRetired(index.operations);
  const note = broken ?? pairing ?? [...brokenLocks.values()][0] ?? retired;
  return {
    result: {
      invariant: assumptionsName,
      verdict: note === undefined ? 'held' : 'inconclusive',
      witness: [],
      exercised: history.events.length,
      note: note ?? 'every completion has its invocation, and one operation at a time a worker',
    },
    broken: broken ?? pairing,
    brokenLocks,
  };
}

/** A gap in the sequence means that events are missing (a truncated or edited history). */
function brokenSequence(events: readonly HistoryEvent[]): string | undefined {
  const at = events.findIndex((event, place) => event.seq !== place);
  return at === -1
    ? undefined
    : `seq is not dense: event ${at} carries seq ${events[at]?.seq ?? '?'}`;
}

function tooLong(events: readonly HistoryEvent[]): string | undefined {
  const spans = new Map<string | undefined, { first: bigint; last: bigint }>();
  for (const { atNs, clock } of events) {
    const span = spans.get(clock);
    if (span === undefined) spans.set(clock, { first: atNs, last: atNs });
    else if (atNs < span.first) span.first = atNs;
    else if (atNs > span.last) span.last = atNs;
  }
  const long = [...spans.values()].some(({ first, last }) => last - first >= longestNs);
  return long ? 'the history spans more than 104 days: cut it' : undefined;
}

/** One operation at a time a worker; its renewals run beside them, one at a time as well. */
function brokenConcurrency(operations: readonly Operation[]): string | undefined {
  const last = new Map<string, Operation>();
  const lastRenewal = new Map<string, Operation>();
  for (const operation of operations) {
    const { invoke } = operation;
    const lane = invoke.action === 'renew' ? lastRenewal : last;
    const before = lane.get(invoke.worker);
    // After an unknown outcome the worker is free again: it gave up at the completion.
    if (before !== undefined && invoke.seq < (before.complete?.seq ?? Infinity)) {
      return `event ${invoke.seq}: worker ${invoke.worker} began an operation while "${before.invoke.op}" was open`;
    }
    lane.set(invoke.worker, operation);
  }
  return undefined;
}

function brokenClocks(clocks: ReadonlySet<string>): string | undefined {
  if (clocks.size < 2) return undefined;
  return `its events are on several clocks (${[...clocks].sort().join(', ')}), which have no common time`;
}

/** Which of two permits a release gives back is known only while each has an owner of its own. */
function sharedPermitOwner({ grants }: LockHistory): string | undefined {
  const last = new Map<string, Grant>();
  for (const grant of grants) {
    if (grant.sharing === undefined || grant.sharing.limit === Infinity) continue;
    const owner = grant.owner ?? grant.worker;
    const before = last.get(owner);
    if (before !== undefined && before.endNs > grant.grantedNs) {
      return `event ${grant.proof.invoke.seq}: ${owner} took a permit before it gave the last one back: each needs an owner of its own`;
    }
    last.set(owner, grant);
  }
  return undefined;
}

/**
 * After an unknown outcome a worker goes on under a new id, unless a confirm cleared it up. No
 * verdict rests on this (an unknown operation stays open for ever), but the run broke its rule.
 */
function notRetired(operations: readonly Operation[]): string | undefined {
  const uncertain = new Map<string, Operation>();
  for (const operation of operations) {
    const { invoke, outcome } = operation;
    const { action, worker, lock } = invoke;
    if (uncertain.size === 0 && outcome !== 'unknown') continue;
    const key = `${worker} ${lock}`;
    const before = uncertain.get(key);
    const settles = action === 'confirm' || action === 'release';
    if (before !== undefined && !settles && action !== 'renew') {
      return `event ${invoke.seq}: worker ${worker} went on after an unknown outcome (event ${before.invoke.seq})`;
    }
    if (action === 'confirm' && outcome !== 'unknown') uncertain.delete(key);
    else if (outcome === 'unknown' && action !== 'renew') uncertain.set(key, operation);
  }
  return undefined;
}
