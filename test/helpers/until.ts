/** Waiting for a condition with a deadline: the only way tests wait. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Asks until the answer is neither false nor undefined. @throws {Error} naming `what` at the deadline */
export async function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  timeoutMs = 10_000,
): Promise<Exclude<T, false | undefined>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== false && answer !== undefined) return answer as Exclude<T, false | undefined>;
    if (performance.now() > deadline) throw new Error(`gave up waiting until ${what}`);
    await sleep(15);
  }
}
