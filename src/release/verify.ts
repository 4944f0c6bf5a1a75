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
  /** Of several holders, those that held it before and were not released. */
  | { readonly outcome: 'others-hold' }
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
    return judge(before, await backend.inspect(before.partOf ?? before.ref, signal), holdOwner);
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
  if (now === undefined) return undefined;
  const holder = valueOf(now.holders)?.[0];
  if (holder === undefined) return unnamed(now);
  if (holder.owner === holdOwner)
    return { outcome: 'held-by-us', note: `held by you, ${holdOwner}` };
  if (isBack(before, now, holder)) {
    const weak = before.notes.some((note) => note.code === 'weak-owner');
    const doubt = weak ? '; its value is shared, so this may be another holder' : '';
    return { outcome: 'came-back', note: `${holder.owner} holds it again${doubt}` };
  }
  if (heldBefore(before, holder)) {
    return {
      outcome: 'others-hold',
      note: `the one released did not come back; ${holder.owner} holds it as before`,
    };
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

/** Nobody, or somebody whom the layout does not name. */
function unnamed(now: LockDetail): Verification | undefined {
  if (now.holders.kind !== 'unknown' || now.identity === undefined) return undefined;
  return { outcome: 'unknown', note: 'held again; the record does not say by whom' };
}

/** The same owner in the same record; of several holders, the one that was released. */
function isBack(before: LockDetail, now: LockDetail, holder: Holder): boolean {
  const { holder: meant } = before.ref;
  if (meant !== undefined) {
    return (valueOf(now.holders) ?? []).some((one) => one.owner === meant);
  }
  if (before.partOf !== undefined) {
    return (valueOf(now.holders) ?? []).some((one) => isRecordOf(before, one));
  }
  const alone = (valueOf(before.holders) ?? []).length <= 1;
  const same = now.identity?.expect === before.identity?.expect;
  return heldBefore(before, holder) && (alone || same);
}

function heldBefore(before: LockDetail, { owner, record }: Holder): boolean {
  return (valueOf(before.holders) ?? []).some(
    (one) => one.owner === owner && one.record === record,
  );
}

/** Whether this holder is the contender that `ref` names by its whole path. */
function isRecordOf({ ref }: LockDetail, { record }: Holder): boolean {
  return record !== undefined && ref.name.endsWith(`/${record}`);
}

function compareWithBefore(before: LockDetail, now: LockDetail): 'yes' | 'no' | 'unknown' {
  if (before.fence.kind !== 'token' || now.fence.kind !== 'token') return 'unknown';
  return compareFences(now.fence.token, before.fence.token) > 0 ? 'yes' : 'no';
}
