/**
 * Locks as JSON. Fields are written out one by one, in this order, so that the form is a promise
 * and not whatever a type happens to hold; what only the backend understands stays inside.
 */
import type { Fence, FenceRecord } from '../domain/fence.ts';
import type { Known } from '../domain/known.ts';
import type { RenewalSample } from '../domain/lease.ts';
import type { Liveness } from '../domain/liveness.ts';
import type { LockDetail, LockSnapshot } from '../domain/lock.ts';
import { schemaVersion } from './json.ts';
import type { ListSummary } from './locks-list.ts';

/** One lock of a listing. */
function lockJson(lock: LockSnapshot, target: string): object {
  return {
    schemaVersion,
    target,
    name: lock.ref.name,
    state: lock.state,
    mode: lock.mode,
    recognition: lock.recognition,
    holders: lock.holders,
    lease: lock.lease,
    waiters: lock.waiters,
    fence: fenceJson(lock.fence),
    heldForMs: lock.heldForMs,
    helpers: lock.helpers,
    notes: lock.notes,
    holder: lock.ref.holder,
    expect: lock.identity?.expect,
    server: lock.server,
  };
}

/**
 * One lock on one line: plain JSON types only, so that no replacer runs for each of a million.
 * `capturedAt` says that it was read then, and not from a target just now.
 */
export function lockLine(lock: LockSnapshot, target: string, capturedAt?: string): string {
  const fields = lockJson(lock, target);
  return JSON.stringify(capturedAt === undefined ? fields : { ...fields, capturedAt });
}

function fenceJson(fence: Fence): object {
  return fence.kind === 'token' ? { ...fence, token: fence.token.toString() } : fence;
}

export function summaryJson(summary: ListSummary): object {
  return {
    locks: summary.locks,
    needAttention: summary.needAttention,
    read: summary.read,
    others: summary.others,
    hidden: summary.hidden,
    holes: summary.holes,
    limited: summary.limited,
    elapsedMs: Math.round(summary.elapsedMs),
  };
}

/** One lock in full. `sample` is undefined when the lease was not watched. */
export function detailJson(
  lock: LockDetail,
  target: string,
  liveness: Liveness | undefined,
  sample: RenewalSample | undefined,
  history: HistoryJson | undefined,
): object {
  return {
    ...lockJson(lock, target),
    liveness,
    sample,
    evidence: lock.evidence,
    facts: lock.facts,
    history,
  };
}

export interface HistoryJson {
  readonly complete: Known<string>;
  /** Records there are; `records` holds the newest of them. */
  readonly total: number;
  readonly records: readonly object[];
}

/** One past or present grant. */
export function fenceRecordJson(record: FenceRecord): object {
  return {
    fence: record.fence,
    owner: record.owner,
    record: record.record,
    grantedAt: record.grantedAt,
    ended: record.ended,
    source: record.source,
  };
}
