/** Looks for a while after a release: is it free, who has it now, did the old owner come back. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Backend } from '../backends/backend.ts';
import { formatDuration } from '../domain/duration.ts';
import { FencepostError } from '../domain/errors.ts';
import { compareFences } from '../domain/fence.ts';
import { valueOf } from '../domain/known.ts';
import type { LockDetail } from '../domain/lock.ts';
import type { Holder, OwnerToken } from '../domain/holder.ts';

export type Verification = { readonly note: string } & (
  | { readonly outcome: 'free'; readonly forMs: number }
  | {
      readonly outcome: 'taken-over';
      readonly owner: OwnerToken;
      readonly higherFence: 'yes' | 'no' | 'unknown';
    }
  | { readonly outcome: 'came-back' }
  /** Our own record stands in its place (`--hold`). */
  | { readonly outcome: 'held-by-us' }
  | { readonly outcome: 'unknown' }
);

const everyMs = 250;

/**
 * Watches for the whole time: a renewal that re-creates the record may need up to its period. Ends
 * early when the old owner is back, or when interrupted: then with what was seen last.
 */
export async function verifyRelease(
  backend: Backend,
  before: LockDetail,
  holdOwner: OwnerToken | undefined,
  forMs: number,
  signal: AbortSignal,
): Promise<Verification> {
  const endsAt = performance.now() + forMs;
  let last = 'it was not looked at';
  for (;;) {
    const seen = await lookOnce(backend, before, holdOwner, signal);
    if (signal.aborted) return { outcome: 'unknown', note: `interrupted; last seen: ${last}` };
    if (seen?.outcome === 'came-back') return seen;
    last = seen?.note ?? 'free';
    const leftMs = endsAt - performance.now();
    if (leftMs <= 0) return seen ?? { outcome: 'free', forMs, note: freeNote(forMs) };
    await pause(Math.min(everyMs, leftMs), signal);
  }
}

function freeNote(forMs: number): string {
  return forMs === 0
    ? 'free right afterwards'
    : `${formatDuration(forMs)}: free; the old owner did not come back`;
}

/** Ends early, without an error, when interrupted. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Undefined: nobody holds it. A failed look is not the end: the next one may succeed. */
async function lookOnce(
  backend: Backend,
  before: LockDetail,
  holdOwner: OwnerToken | undefined,
  signal: AbortSignal,
): Promise<Verification | undefined> {
  try {
    return judge(before, await backend.inspect(before.ref, signal), holdOwner);
  } catch (error) {
    if (!(error instanceof FencepostError)) throw error;
    return { outcome: 'unknown', note: `could not look: ${error.message}` };
  }
}

function judge(
  before: LockDetail,
  now: LockDetail | undefined,
  holdOwner: OwnerToken | undefined,
): Verification | undefined {
  const holder = now === undefined ? undefined : valueOf(now.holders)?.[0];
  if (now === undefined || holder === undefined) return undefined;
  if (holder.owner === holdOwner)
    return { outcome: 'held-by-us', note: `held by you, ${holdOwner}` };
  if (isBack(before, now, holder)) {
    const weak = before.notes.some((note) => note.code === 'weak-owner');
    const doubt = weak ? '; its value is shared, so this may be another holder' : '';
    return { outcome: 'came-back', note: `${holder.owner} holds it again${doubt}` };
  }
  const higherFence = compareWithBefore(before, now);
  return {
    outcome: 'taken-over',
    owner: holder.owner,
    higherFence,
    note: `held by ${holder.owner}, ${fenceWords[higherFence]}`,
  };
}

const fenceWords = {
  yes: 'with a higher fence',
  no: 'but WITHOUT a higher fence: the resource cannot tell it from the old owner',
  unknown: 'no fence to compare',
} as const;

/** The same owner in the same record; of several holders, only when none of them went. */
function isBack(before: LockDetail, now: LockDetail, holder: Holder): boolean {
  const old = valueOf(before.holders) ?? [];
  const same = old.some((one) => one.owner === holder.owner && one.record === holder.record);
  return same && (old.length <= 1 || now.identity?.expect === before.identity?.expect);
}

function compareWithBefore(before: LockDetail, now: LockDetail): 'yes' | 'no' | 'unknown' {
  if (before.fence.kind !== 'token' || now.fence.kind !== 'token') return 'unknown';
  return compareFences(now.fence.token, before.fence.token) > 0 ? 'yes' : 'no';
}
