/** Spreads requests over time, at most so many a second. */
import { setTimeout as delay } from 'node:timers/promises';
import { interrupted } from '../../clients/zookeeper/errors.ts';

/** Each call waits for its turn; without a limit it returns at once. */
export function rateLimiter(
  perSecond: number | undefined,
  signal: AbortSignal,
): () => Promise<void> {
  if (perSecond === undefined) return () => Promise.resolve();
  const gapMs = 1000 / perSecond;
  let nextAt = performance.now();
  return async () => {
    const waitMs = nextAt - performance.now();
    nextAt = Math.max(nextAt, performance.now()) + gapMs;
    if (waitMs > 1) await pause(waitMs, signal);
  };
}

/** @throws {Interrupted} when `signal` is aborted before `ms` have passed */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch {
    // The only thing that a timer rejects with is the abort.
    throw interrupted();
  }
}
