/** Waits until a lease ends by itself: the release that needs no guard, because nothing is deleted. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Backend } from '../backends/backend.ts';
import { formatDuration } from '../domain/duration.ts';
import { GuardRefused, LockChanged } from '../domain/errors.ts';
import type { LockDetail, LockRef } from '../domain/lock.ts';

const marginMs = 2_000;

export interface WaitedExpiry {
  readonly waitedMs: number;
  /** What is there now: nobody, or the next grant's token. */
  readonly now: string;
}

/**
 * Waits for the end of the grant that is there now, at most for the lease that it has left.
 * @throws {LockChanged} `lock-gone` when there is nothing to wait for
 * @throws {GuardRefused} `still-held` when the lease has no end, or was renewed meanwhile
 */
export async function waitForExpiry(
  backend: Backend,
  ref: LockRef,
  signal: AbortSignal,
): Promise<WaitedExpiry> {
  const first = await backend.inspect(ref, signal);
  const grant = first?.identity?.expect;
  if (first === undefined || grant === undefined) {
    throw new LockChanged(`"${ref.name}": nobody holds it`, { code: 'lock-gone', definite: true });
  }
  const startedAt = performance.now();
  const { lease } = first;
  if (lease.kind !== 'ttl') throw stillHeld(first, 'its lease does not end by itself');
  const deadlineAt = startedAt + lease.ttlMs + marginMs;
  while (performance.now() < deadlineAt) {
    await delay(Math.min(250, lease.ttlMs + 20), undefined, { signal });
    const seen = (await backend.inspect(ref, signal))?.identity?.expect;
    if (seen !== grant) {
      return { waitedMs: performance.now() - startedAt, now: seen ?? 'free' };
    }
  }
  throw stillHeld(first, `it was renewed: still held after ${formatDuration(lease.ttlMs)}`);
}

function stillHeld(lock: LockDetail, why: string): GuardRefused {
  return new GuardRefused(`"${lock.ref.name}" will not free itself: ${why}`, {
    code: 'still-held',
    hint: 'nothing was deleted; plan a release without --wait-expiry',
    definite: true,
  });
}
