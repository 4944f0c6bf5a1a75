/**
 * Takeover: after a holder stopped or died, the next one is granted the lock within a bound. Told
 * in three parts: until the old lease ended, until the new grant, until the new holder's first
 * accepted work. Bounds count from the lease that was granted, never from the one asked for.
 */
import type { FaultEvent } from '../domain/event.ts';
import type { InvariantSpec, Span } from '../domain/scenario.ts';
import type { Checker } from './checker.ts';
import { count, formatNs, perLock, spanNs, type Findings } from './conclude.ts';
import type { Grant, HistoryIndex, LockHistory } from './history.ts';
import { grantName, lastSeq } from './witness.ts';

interface Takeover {
  readonly from: Grant;
  readonly to: Grant | undefined;
  readonly startNs: number;
  /** When the old lease was over. */
  readonly endedNs: number;
  readonly startSeq: number;
}

/** Faults that stop or end a holder. */
const stopping = /^(pause|starve|crash|kill|partition|cut|session|expiry|lease)/;

export const takeover: Checker = {
  name: 'takeover',
  title: 'a stopped holder is replaced within its bound',
  check: (history, spec) => perLock(history, spec, (lock) => judge(history, lock, spec)),
};

function judge(history: HistoryIndex, lock: LockHistory, spec: InvariantSpec): Findings {
  const takeovers = takeoversOf(history, lock, spec.options['from'] === 'expiry');
  const verdicts = takeovers.map((one) => lateness(history, lock, one, spec.within));
  const done = takeovers.filter(({ to }, at) => to !== undefined && verdicts[at] !== 'unasked');
  const longest = describeLongest(lock, done);
  const bounded = spec.within !== undefined;
  return {
    violation: verdicts.find((verdict) => typeof verdict === 'object'),
    doubt: verdicts.includes('unknown-lease')
      ? 'the granted lease is not known, so the bound is not either'
      : verdicts.includes('open')
        ? 'the history ends before a stopped holder had to be replaced'
        : undefined,
    exercised: bounded ? done.length : 0,
    held: `${count(done.length, 'takeover')}, the longest ${longest}`,
    idle:
      bounded || done.length === 0
        ? 'no holder was stopped and replaced'
        : `no bound given; the longest takeover was ${longest}`,
  };
}

/** From a fault on the holder (or its lease's end) to the next grant of somebody else. */
function takeoversOf(
  history: HistoryIndex,
  lock: LockHistory,
  fromExpiry: boolean,
): readonly Takeover[] {
  const faults = history.faults.filter(
    ({ phase, fault }) => phase === 'begin' && stopping.test(fault),
  );
  return lock.grants.flatMap((from) => {
    const fault = faults.find((one) => strikes(history, one, from));
    if (fault === undefined) return [];
    const to = lock.grants[from.index + 1];
    const faultNs = history.timeOf(fault);
    const endedNs = leaseEnd(history, lock, from, faultNs);
    return [{ from, to, startNs: fromExpiry ? endedNs : faultNs, endedNs, startSeq: fault.seq }];
  });
}

function strikes(history: HistoryIndex, fault: FaultEvent, grant: Grant): boolean {
  const at = history.timeOf(fault);
  const target = fault.target;
  const aimed = target === grant.worker || target === grant.process;
  return aimed && at >= grant.grantedNs && at < grant.endNs;
}

/** As the service showed it after the fault, else the holder's own deadline. */
function leaseEnd(history: HistoryIndex, lock: LockHistory, grant: Grant, faultNs: number): number {
  const seen = lock.observations.find(
    (fact) =>
      history.timeOf(fact) >= faultNs &&
      ((fact.fact === 'expiry' && fact.owner === grant.owner) ||
        (fact.fact === 'removal' && fact.owner === grant.owner) ||
        (fact.fact === 'lock-state' && (fact.absent === true || fact.owner !== grant.owner))),
  );
  return seen === undefined ? grant.validUntilNs : history.timeOf(seen);
}

type Violation = NonNullable<Findings['violation']>;
type Lateness = Violation | 'in-time' | 'open' | 'unasked' | 'unknown-lease';

function lateness(
  history: HistoryIndex,
  lock: LockHistory,
  { from, to, startNs, startSeq }: Takeover,
  within: Span | undefined,
): Lateness {
  if (within === undefined) return 'in-time';
  const boundNs = spanNs(within, from.leaseMs);
  if (boundNs === undefined) return 'unknown-lease';
  const deadline = startNs + boundNs;
  if (to !== undefined && to.grantedNs <= deadline) return 'in-time';
  const asked = lock.operations.find(
    ({ invoke, startNs: at, grant }) =>
      invoke.action === 'acquire' && at > from.grantedNs && at < deadline && grant !== from,
  );
  if (asked === undefined) return 'unasked';
  if (to === undefined && history.endNs <= deadline) return 'open';
  const what =
    to === undefined
      ? 'nobody was granted the lock'
      : `${grantName(to)} was granted it after ${formatNs(to.grantedNs - startNs)}`;
  return {
    witness: [startSeq, asked.invoke.seq, ...(to === undefined ? [] : [lastSeq(to.proof)])],
    note: `${grantName(from)} had to be replaced within ${formatNs(boundNs)}; ${what}`,
  };
}

function describeLongest(lock: LockHistory, takeovers: readonly Takeover[]): string {
  const spans = takeovers.flatMap((one) =>
    one.to === undefined ? [] : [{ one, to: one.to, tookNs: one.to.grantedNs - one.startNs }],
  );
  const [longest] = spans.sort((a, b) => b.tookNs - a.tookNs);
  if (longest === undefined) return 'none';
  const { one, to, tookNs } = longest;
  const endedNs = Math.min(one.endedNs, to.grantedNs);
  const first = lock.attempts.find(
    ({ fate, operation }) => fate === 'counted' && operation.grant === to,
  );
  const parts = [
    `${formatNs(Math.max(0, endedNs - one.startNs))} to the lease's end`,
    `${formatNs(to.grantedNs - endedNs)} to the grant`,
  ];
  if (first !== undefined && first.operation.replyNs !== Infinity) {
    parts.push(`${formatNs(first.operation.replyNs - to.grantedNs)} more to the first effect`);
  }
  return `${formatNs(tookNs)} (${parts.join(', ')})`;
}
