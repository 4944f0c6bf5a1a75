/**
 * Mutual exclusion at three levels: `service` (what the lock service granted never overlapped),
 * `effect` (what the resource accepted is the work of one grant after the other) and `belief`
 * (no two workers thought that they held it; a frozen worker is expected to break this one).
 * Comparing what was surely held is exact for owner-aware locks: if no two of these stretches
 * overlap, placing each acquire at its reply and each release at its invocation explains it all.
 */
import { UsageError } from '../domain/errors.ts';
import { arrived } from './attempts.ts';
import type { Checker } from './checker.ts';
import { count, perLock, type Findings } from './conclude.ts';
import type { Attempt, Grant, HistoryIndex, LockHistory } from './history.ts';
import { isBusy } from './false-busy.ts';
import { findOverlap, holdOf, recordIdentity, sightings, type Hold } from './holds.ts';
import { findCrowd, findIntrusion, permitLimit, sharedHolds } from './shared-holds.ts';
import { findInversion, type Ranked } from './ranked-order.ts';
import { grantName } from './witness.ts';

type Judge = (lock: LockHistory, history: HistoryIndex) => Findings;

export const mutualExclusion: Checker = {
  name: 'mutual-exclusion',
  title: 'no two holders at once, as the service, the accepted effects or the workers saw it',
  levels: ['service', 'effect', 'belief'],
  check(history, spec) {
    const level = spec.level ?? 'service';
    const judge = levels.get(level);
    if (judge === undefined) {
      throw new UsageError(`mutual-exclusion has no level "${level}"`, {
        code: 'unknown-level',
        hint: `write one of ${[...levels.keys()].join(', ')}`,
        definite: true,
      });
    }
    return perLock(history, { name: spec.name, level }, (lock) => judge(lock, history));
  },
};

/** The service's promise: a grant counts until its release, its loss, or its lease's end. */
function judgeService(lock: LockHistory, history: HistoryIndex): Findings {
  if (lock.shared) return judgeShared(lock, ({ endNs }) => endNs, 'were granted the lock at once');
  const cores = lock.grants.map((grant) => holdOf(grant, grant.endNs));
  const pair = findOverlap(cores);
  const unbounded = lock.grants.some((grant) => grant.validUntilNs === Infinity);
  return {
    violation: pair && overlapOf(pair, 'were granted the lock at once'),
    doubt: sightedOverlap(lock, history),
    exercised: contested(lock),
    held: `${count(lock.grants.length, 'grant')}, never two at once`,
    idle: `${count(lock.grants.length, 'grant')}, and nobody competed for the lock`,
    remarks: unbounded ? ['a grant without a known lease counts until its release'] : [],
  };
}

/** What workers thought: from the reply until they released or were told of the loss. */
function judgeBelief(lock: LockHistory): Findings {
  if (lock.shared) return judgeShared(lock, beliefEnd, 'believed that they held the lock at once');
  const beliefs = lock.grants.map((grant) => holdOf(grant, beliefEnd(grant)));
  const pair = findOverlap(beliefs);
  return {
    violation: pair && overlapOf(pair, 'believed that they held the lock at once'),
    exercised: contested(lock),
    held: `${count(lock.grants.length, 'grant')}, never two believers at once`,
    idle: `${count(lock.grants.length, 'grant')}, and nobody competed for the lock`,
  };
}

function beliefEnd(grant: Grant): number {
  return Math.min(grant.release?.startNs ?? Infinity, grant.lossNs);
}

/** Read locks beside each other, a write lock alone, and never more permits out than there are. */
function judgeShared(lock: LockHistory, endOf: (grant: Grant) => number, what: string): Findings {
  const holds = sharedHolds(lock, endOf);
  const pair = findIntrusion(holds);
  const limit = permitLimit(lock);
  const crowd = findCrowd(
    holds.filter(({ permits }) => permits > 0),
    limit,
  );
  const last = crowd.holds.at(-1);
  const tested = contested(lock) + (limit === Infinity ? 0 : crowd.timesFull);
  const kind =
    limit === Infinity ? 'a writer never beside another' : `never above ${limit} permits`;
  return {
    violation:
      (pair && overlapOf(pair, what)) ??
      (last && {
        witness: crowd.holds.map(({ seqs }) => seqs[0] ?? 0),
        note: `${crowd.holds.map(({ name }) => name).join(', ')} ${what}, from ${instant(last.startNs)}: more than ${count(limit, 'permit')}`,
      }),
    exercised: tested,
    held: `${count(lock.grants.length, 'grant')}, ${kind}`,
    idle: `${count(lock.grants.length, 'grant')}, and none that had to wait for another`,
  };
}

/** Grants after somebody else's, and refusals while there was a grant: both need a contender. */
function contested(lock: LockHistory): number {
  let handovers = 0;
  let previous: Grant | undefined;
  for (const grant of lock.grants) {
    const both = previous?.sharing !== undefined && grant.sharing !== undefined;
    if (previous !== undefined && !both && contender(previous) !== contender(grant)) handovers += 1;
    previous = grant;
  }
  return handovers + (previous === undefined ? 0 : lock.operations.filter(isBusy).length);
}

function contender(grant: Grant): string {
  return grant.owner ?? grant.worker;
}

function overlapOf(
  [first, second]: readonly [Hold, Hold],
  what: string,
): { witness: readonly number[]; note: string } {
  const endNs = Math.min(first.endNs, second.endNs);
  const end = endNs === Infinity ? 'the end' : instant(endNs);
  return {
    witness: [...first.seqs, ...second.seqs.slice(0, 1)],
    note: `${first.name} and ${second.name} ${what}, from ${instant(second.startNs)} to ${end}`,
  };
}

function instant(ns: number): string {
  return `${(ns / 1e6).toFixed(1)} ms`;
}

/**
 * Sightings reach beyond what a holder knows (a grant whose reply was lost). They never convict by
 * themselves: where they change the verdict, it is a doubt.
 */
function sightedOverlap(lock: LockHistory, history: HistoryIndex): string | undefined {
  const seen = sightings(history, lock);
  if (seen.length === 0) return undefined;
  const cores = lock.grants.map((grant) =>
    holdOf(grant, grant.endNs, recordIdentity(grant.owner, grant.fence)),
  );
  const pair = findOverlap([...cores, ...seen]);
  return pair && `possible violation: ${overlapOf(pair, 'seem to have been there at once').note}`;
}

interface RankedAttempt extends Ranked {
  readonly attempt: Attempt;
}

/** Accepted work of an older grant after accepted work of a newer one. */
function judgeEffect(lock: LockHistory): Findings {
  // What is done under shared holds has no order of its own.
  const attempts = lock.attempts.filter(({ operation }) => operation.grant?.sharing === undefined);
  const fenced = attempts.every(({ fence }) => fence !== undefined);
  const ranked = attempts.flatMap((attempt) => rank(attempt, fenced));
  const found = findInversion(ranked.filter(({ attempt }) => attempt.fate === 'counted'));
  const possible = findInversion(
    ranked.filter(({ attempt }) => attempt.fate === 'counted' || attempt.fate === 'maybe'),
  );
  const sure = found !== undefined && (fenced || inOrder(found.newer, found.older));
  const grants = new Set(ranked.filter(({ attempt }) => arrived(attempt)).map((one) => one.rank));
  return {
    violation: sure
      ? {
          witness: [...found.newer.attempt.seqs, ...found.older.attempt.seqs],
          note: `work of ${workerName(found.older)} was accepted after work of ${workerName(found.newer)}`,
        }
      : undefined,
    doubt:
      possible &&
      `possible violation: it is not known whether ${workerName(possible.older)} worked after ${workerName(possible.newer)}`,
    exercised: Math.max(0, grants.size - 1),
    held: `work of ${count(grants.size, 'grant')} arrived; what counted follows the order of the grants`,
    idle: `work of fewer than two ${lock.shared ? 'exclusive ' : ''}grants arrived at the resource`,
  };
}

function workerName({ attempt }: RankedAttempt): string {
  const { grant, invoke } = attempt.operation;
  return grant === undefined ? invoke.worker : grantName(grant);
}

/** Whether the older grant was surely there before the newer one was asked for. */
function inOrder(newer: RankedAttempt, older: RankedAttempt): boolean {
  const later = newer.attempt.operation.grant?.startNs ?? 0;
  return (older.attempt.operation.grant?.grantedNs ?? Infinity) < later;
}

/** By token; where tokens are missing, by the order of the grants. */
function rank(attempt: Attempt, fenced: boolean): RankedAttempt[] {
  const { grant, startNs, replyNs } = attempt.operation;
  const index = grant === undefined ? undefined : BigInt(grant.index);
  const place = fenced ? attempt.fence : index;
  if (place === undefined) return [];
  return [{ rank: place, startNs, replyNs, row: attempt.row, version: attempt.version, attempt }];
}

const levels: ReadonlyMap<string, Judge> = new Map<string, Judge>([
  ['service', judgeService],
  ['effect', judgeEffect],
  ['belief', judgeBelief],
]);
