/** Waiting for what a fault must bring about, with a deadline. */
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Asks until it is true. Does not look at the clock before the first answer.
 * @returns whether it became true in time
 * @throws {Error} `AbortError`, when `signal` comes between two questions
 */
export async function untilTrue(
  ask: () => boolean | Promise<boolean>,
  withinMs: number,
  signal: AbortSignal,
  askEveryMs = 20,
): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    if (await ask()) return true;
    if (performance.now() > deadline) return false;
    await delay(askEveryMs, undefined, { signal });
  }
}
