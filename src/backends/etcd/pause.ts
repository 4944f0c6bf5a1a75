/** Waiting that ends at once when the caller gives up. */
import { setTimeout as sleep } from 'node:timers/promises';
import { interrupted } from '../../clients/etcd/link.ts';

/** @throws {Interrupted} when `signal` is aborted before `ms` have passed */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch {
    // The only thing that a timer rejects with is the abort.
    throw interrupted();
  }
}

/** Waits so that no more than `perSecond` are read on average since the start. */
export function pacer(
  perSecond: number | undefined,
  signal: AbortSignal,
): (read: number) => Promise<void> {
  if (perSecond === undefined) return () => Promise.resolve();
  const start = performance.now();
  let total = 0;
  return async (read) => {
    total += read;
    const waitMs = start + (total / perSecond) * 1000 - performance.now();
    if (waitMs > 0) await pause(waitMs, signal);
  };
}
