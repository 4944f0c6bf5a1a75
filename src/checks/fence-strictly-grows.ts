/**
 * Fencing tokens grow strictly along the grants of a lock: in real time, along disjoint holds, and
 * in the service's own order where it told one. A renewal keeps its token.
 */
import type { ObservationEvent } from '../domain/event.ts';
import type { Checker } from './checker.ts';
import { count, perLock, type Findings } from './conclude.ts';
import type { Grant, LockHistory } from './history.ts';
import { findOverlap, holdOf } from './holds.ts';
import { compare } from './ranked-order.ts';
import { grantName, lastSeq } from './witness.ts';

type Violation = NonNullable<Findings['violation']>;

export const fenceStrictlyGrows: Checker = {
  name: 'fence-strictly-grows',
  title: 'each grant carries a larger fencing token than every grant before it',
  check: (history, spec) => perLock(history, spec, judge),
};

function judge(lock: LockHistory): Findings {
  // Shared holds have no order among each other: only exclusive ones are compared.
  const exclusive = lock.grants.filter(({ sharing }) => sharing === undefined);
  const fenced = exclusive.filter((grant) => grant.fence !== undefined);
  const observed = lock.observations.filter(
    (fact) => fact.fact === 'grant' && fact.fence !== undefined && !lock.shared,
  );
  const missing = fenced.length > 0 && fenced.length < exclusive.length;
  const grants = Math.max(fenced.length, observed.length);
  return {
    violation:
      duplicate(fenced) ??
      againstRealTime(fenced) ??
      alongHolds(fenced) ??
      againstServiceOrder(observed) ??
      changedByRenewal(fenced),
    doubt: missing ? 'some grants carry a token and others none' : undefined,
    exercised: Math.max(0, grants - 1),
    held: `${count(grants, 'token')}, each larger than the one before`,
    idle:
      grants === 0
        ? `no ${lock.shared ? 'exclusive ' : ''}grant carries a token`
        : 'one token only: nothing to compare it with',
  };
}

/** One token for two grants: the resource cannot tell the two holders apart. */
function duplicate(grants: readonly Grant[]): Violation | undefined {
  const byFence = new Map<bigint, Grant>();
  for (const grant of grants) {
    if (grant.fence === undefined) continue;
    const twin = byFence.get(grant.fence);
    if (twin !== undefined) return against(twin, grant);
    byFence.set(grant.fence, grant);
  }
  return undefined;
}

/** At each acquire's invocation no acquire that had already replied may have an equal or larger token. */
function againstRealTime(grants: readonly Grant[]): Violation | undefined {
  const invocations = [...grants].sort((a, b) => a.startNs - b.startNs);
  let replied = 0;
  let largest: Grant | undefined;
  for (const grant of invocations) {
    for (let next = grants[replied]; next !== undefined; next = grants[replied]) {
      if (next.grantedNs >= grant.startNs) break;
      if (token(next) > token(largest)) largest = next;
      replied += 1;
    }
    if (largest !== undefined && token(largest) >= token(grant)) return against(largest, grant);
  }
  return undefined;
}

/** Disjoint holds have one order, the order of their replies, even where their acquires overlapped. */
function alongHolds(grants: readonly Grant[]): Violation | undefined {
  const held = grants.filter((grant) => grant.endNs > grant.grantedNs);
  if (findOverlap(held.map((grant) => holdOf(grant, grant.endNs))) !== undefined) return undefined;
  let previous: Grant | undefined;
  for (const grant of held) {
    if (previous !== undefined && token(previous) >= token(grant)) return against(previous, grant);
    previous = grant;
  }
  return undefined;
}

function againstServiceOrder(observed: readonly ObservationEvent[]): Violation | undefined {
  const ordered = observed
    .flatMap(({ order, fence, epoch, owner, seq }) =>
      order === undefined || fence === undefined ? [] : [{ order, fence, epoch, owner, seq }],
    )
    .sort((a, b) => compare(a.order, b.order) || a.seq - b.seq);
  const last = new Map<string | undefined, (typeof ordered)[number]>();
  for (const grant of ordered) {
    const before = last.get(grant.epoch);
    // The same record listed again by a later reading is not another grant.
    const again = before?.order === grant.order && before.owner === grant.owner;
    if (before !== undefined && !again && before.fence >= grant.fence) {
      return {
        witness: [before.seq, grant.seq],
        note: `in the service's own order token ${before.fence} was followed by ${grant.fence}`,
      };
    }
    last.set(grant.epoch, grant);
  }
  return undefined;
}

function changedByRenewal(grants: readonly Grant[]): Violation | undefined {
  for (const grant of grants) {
    const changed = grant.renewals.find(
      ({ complete }) => complete?.fence !== undefined && complete.fence !== grant.fence,
    );
    if (changed === undefined) continue;
    return {
      witness: [lastSeq(grant.proof), lastSeq(changed)],
      note: `a renewal of ${grantName(grant)} came back with token ${changed.complete?.fence ?? ''}`,
    };
  }
  return undefined;
}

function against(before: Grant, after: Grant): Violation {
  return {
    witness: [lastSeq(before.proof), lastSeq(after.proof)],
    note: `${grantName(after)} was granted after ${grantName(before)}`,
  };
}

function token(grant: Grant | undefined): bigint {
  return grant?.fence ?? -1n;
}
