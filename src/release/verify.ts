/** Looks for a while after a release: is it free, who has it now, did the old owner come back. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Backend } from '../backends/backend.ts';
import { FencepostError } from '../domain/errors.ts';
import { compareFences } from '../domain/fence.ts';
import { valueOf } from '../domain/known.ts';
import type { LockDetail } from '../domain/lock.ts';
import type { OwnerToken } from '../domain/holder.ts';

export type Verification =
  | { readonly outcome: 'free'; readonly forMs: number; readonly note: string }
  | {
      readonly outcome: 'taken-over';
      readonly owner: OwnerToken;
      readonly higherFence: 'yes' | 'no' | 'unknown';
      readonly note: string;
    }
  | { readonly outcome: 'came-back'; readonly note: string }
  /** Our own record stands in its place (`--hold`). */
  | { readonly outcome: 'held-by-us'; readonly note: string }
  | { readonly outcome: 'unknown'; readonly note: string };

const everyMs = 250;

/**
 * Watches until somebody has the lock or the time is over. The end of the window decides about
 * "came back": a renewal that re-creates the record may need up to its period.
 */
export async function verifyRelease(
  backend: Backend,
  before: LockDetail,
  holdOwner: OwnerToken | undefined,
  forMs: number,
  signal: AbortSignal,
): Promise<Verification> {
  const endsAt = performance.now() + forMs;
  let failure: string | undefined;
  let last: LockDetail | undefined;
  for (;;) {
    try {
      last = await backend.inspect(before.ref, signal);
      failure = undefined;
      const seen = judge(before, last, holdOwner);
      if (seen !== undefined && (seen.outcome === 'came-back' || performance.now() >= endsAt)) {
        return seen;
      }
    } catch (error) {
      if (signal.aborted || !(error instanceof FencepostError)) throw error;
      failure = error.message;
    }
    if (performance.now() >= endsAt) break;
    await delay(Math.min(everyMs, forMs), undefined, { signal });
  }
  if (failure !== undefined) return { outcome: 'unknown', note: `could not look: ${failure}` };
  return { outcome: 'free', forMs, note: 'free; the old owner did not come back' };
}

/** Undefined: nobody holds it. */
function judge(
  before: LockDetail,
  now: LockDetail | undefined,
  holdOwner: OwnerToken | undefined,
): Verification | undefined {
  const holder = now === undefined ? undefined : valueOf(now.holders)?.[0];
  if (now === undefined || holder === undefined) return undefined;
  if (holder.owner === holdOwner) return { outcome: 'held-by-us', note: 'held by you' };
  const old = valueOf(before.holders) ?? [];
  const sameOwner = old.some((one) => one.owner === holder.owner && one.record === holder.record);
  const others = old.length > 1 && now.identity?.expect !== before.identity?.expect;
  if (sameOwner && !others) {
    return { outcome: 'came-back', note: `${holder.owner} holds it again` };
  }
  return {
    outcome: 'taken-over',
    owner: holder.owner,
    higherFence: compareWithBefore(before, now),
    note: `held by ${holder.owner}`,
  };
}

function compareWithBefore(before: LockDetail, now: LockDetail): 'yes' | 'no' | 'unknown' {
  if (before.fence.kind !== 'token' || now.fence.kind !== 'token') return 'unknown';
  return compareFences(now.fence.token, before.fence.token) > 0 ? 'yes' : 'no';
}
