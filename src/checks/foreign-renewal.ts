/**
 * No renewal prolongs or re-creates a record that is not the renewer's: renewals answered ok inside
 * another's hold, another's remaining time that jumped up, a record back after it had gone.
 */
import type { Checker } from './checker.ts';
import { count, perLock, type Findings } from './conclude.ts';
import type { Grant, HistoryIndex, LockHistory, Operation } from './history.ts';
import { exclusiveHolds } from './holds.ts';
import { IntervalList } from './interval-list.ts';
import { bothSeqs, grantName, lastSeq } from './witness.ts';

type Violation = NonNullable<Findings['violation']>;

export const noForeignRenewal: Checker = {
  name: 'no-foreign-renewal',
  title: "no renewal prolongs or re-creates a record that is not the renewer's",
  check: (history, spec) => perLock(history, spec, (lock) => judge(history, lock)),
};

function judge(history: HistoryIndex, lock: LockHistory): Findings {
  const holds = exclusiveHolds(lock);
  const foreign = lock.operations.flatMap((renewal) => {
    const { invoke, complete, startNs, replyNs } = renewal;
    if (invoke.action !== 'renew' || complete?.code === 'no-grant') return [];
    const victim = holds.firstMeeting(startNs, replyNs, (grant) => !isOwn(grant, renewal));
    return victim === undefined ? [] : [{ renewal, victim }];
  });
  const unknown = foreign.filter(({ renewal }) => renewal.outcome === 'unknown').length;
  const taken = foreign.find(acceptedInside);
  return {
    violation: (taken && accepted(taken)) ?? prolonged(history, lock) ?? recreated(lock),
    doubt:
      unknown === 0 ? undefined : `${count(unknown, 'renewal')} inside another's hold got no reply`,
    exercised: foreign.length,
    held: `${count(foreign.length, 'renewal')} by somebody else, each refused`,
    idle: 'nobody renewed while another held the lock',
  };
}

/** A worker's read lock is renewed beside its own write lock. */
function isOwn(grant: Grant, { grant: renewed }: Operation): boolean {
  return grant === renewed || (renewed?.sharing !== undefined && renewed.worker === grant.worker);
}

interface ForeignRenewal {
  readonly renewal: Operation;
  readonly victim: Grant;
}

/** The service said ok, and whenever it did, the victim held the lock. */
function acceptedInside({ renewal, victim }: ForeignRenewal): boolean {
  const { outcome, startNs, replyNs } = renewal;
  return outcome === 'ok' && startNs > victim.grantedNs && replyNs < victim.endNs;
}

function accepted({ renewal, victim }: ForeignRenewal): Violation {
  return {
    witness: [lastSeq(victim.proof), ...bothSeqs(renewal)],
    note: `${renewal.invoke.worker}'s renewal was accepted while ${grantName(victim)} held the lock`,
  };
}

/** Somebody's remaining time rose between two readings; it had not renewed, but another had. */
function prolonged(history: HistoryIndex, lock: LockHistory): Violation | undefined {
  const renewals = new IntervalList(
    lock.operations
      .filter(({ invoke, outcome }) => invoke.action === 'renew' && outcome !== 'unknown')
      .map((value) => ({ from: value.startNs, to: value.replyNs, value })),
  );
  let ownOf: ReadonlyMap<string, IntervalList<Operation>> | undefined;
  const last = new Map<string, { atNs: number; ttlMs: number; seq: number }>();
  for (const observation of lock.observations) {
    const { fact, owner, ttlMs, seq } = observation;
    if (fact !== 'lock-state' || owner === undefined || ttlMs === undefined) continue;
    const now = { atNs: history.timeOf(observation), ttlMs, seq };
    const before = last.get(owner);
    last.set(owner, now);
    if (before === undefined || now.ttlMs <= before.ttlMs) continue;
    ownOf ??= ownSigns(lock);
    const own = ownOf.get(owner);
    if (own === undefined || own.firstMeeting(before.atNs, now.atNs) !== undefined) continue;
    const foreign = renewals.firstMeeting(
      before.atNs,
      now.atNs,
      ({ grant }) => grant?.owner !== owner,
    );
    if (foreign === undefined) continue;
    return {
      witness: [before.seq, foreign.invoke.seq, now.seq],
      note: `the time left to ${owner} rose with ${foreign.invoke.worker}'s renewal`,
    };
  }
  return undefined;
}

/** Acquires, confirms and renewals by owner: what may lengthen its own record. */
function ownSigns(lock: LockHistory): ReadonlyMap<string, IntervalList<Operation>> {
  const byOwner = new Map<string, Operation[]>();
  for (const operation of lock.operations) {
    const owner = operation.invoke.owner ?? operation.grant?.owner;
    if (owner === undefined || operation.invoke.action === 'release') continue;
    const list = byOwner.get(owner);
    if (list === undefined) byOwner.set(owner, [operation]);
    else list.push(operation);
  }
  return new Map(
    [...byOwner].map(([owner, list]) => [
      owner,
      new IntervalList(list.map((value) => ({ from: value.startNs, to: value.replyNs, value }))),
    ]),
  );
}

/** A record seen gone and then back, with a renewal but no acquire of its owner between. */
function recreated(lock: LockHistory): Violation | undefined {
  const goneSince = new Map<string, number>();
  let present: string | undefined;
  for (const fact of lock.observations) {
    if (fact.fact !== 'lock-state') continue;
    const now = fact.absent === true ? undefined : fact.owner;
    if (present !== undefined && now !== present) goneSince.set(present, fact.seq);
    present = now;
    if (now === undefined) continue;
    const since = goneSince.get(now);
    goneSince.delete(now);
    const renewal = since === undefined ? undefined : revivedBy(lock, now, since, fact.seq);
    if (since === undefined || renewal === undefined) continue;
    return {
      witness: [since, renewal.invoke.seq, fact.seq],
      note: `a renewal brought the record of ${now} back after it had gone`,
    };
  }
  return undefined;
}

/** A renewal of `owner` between two events; undefined when an acquire may explain it as well. */
function revivedBy(
  lock: LockHistory,
  owner: string,
  since: number,
  until: number,
): Operation | undefined {
  const between = lock.operations.filter(
    ({ invoke, complete }) =>
      (invoke.owner ?? '') === owner &&
      invoke.seq < until &&
      (complete?.outcome === 'unknown' ? Infinity : (complete?.seq ?? Infinity)) > since,
  );
  if (between.some(({ invoke }) => invoke.action === 'acquire')) return undefined;
  return between.find(({ invoke }) => invoke.action === 'renew');
}
