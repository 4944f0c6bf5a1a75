/** A worker whose only thread is kept busy: nothing else of it runs, but the process lives. */
import { existsSync } from 'node:fs';
import type { StarveMessage } from './worker-protocol.ts';

/** A part of the time only, so that others on the machine can go on. */
const busyMs = 3;
const idleMs = 9;

/** Returns when the file is gone, or the time is over. */
export function starve({ untilGone, atMostMs }: StarveMessage): void {
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  const deadline = performance.now() + atMostMs;
  while (existsSync(untilGone) && performance.now() < deadline) {
    const busyUntil = performance.now() + busyMs;
    while (performance.now() < busyUntil);
    // Sleeps without the event loop.
    Atomics.wait(nothing, 0, 0, idleMs);
  }
}
