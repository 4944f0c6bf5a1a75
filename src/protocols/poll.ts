/** Trying again while a lock is busy, with jitter: the way to wait where the layout has no queue. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Grant, Reply } from './protocol.ts';

const pollMs = { least: 20, spread: 60 } as const;

/**
 * Tries until something else than `busy` comes, or `waitMs` is over. Every try is one request; an
 * unknown one ends the wait, because a further try could not tell whose grant it sees.
 */
export async function pollWhileBusy(
  attempt: () => Promise<Reply<{ grant: Grant }>>,
  waitMs: number,
  random: () => number,
): Promise<Reply<{ grant: Grant }>> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const reply = await attempt();
    const leftMs = deadline - performance.now();
    if (reply.outcome !== 'fail' || reply.code !== 'busy' || leftMs <= 0) return reply;
    await sleep(Math.min(leftMs, pollMs.least + random() * pollMs.spread));
  }
}
