/**
 * Measures how late this machine runs things: our own event loop, and the heartbeats of workers
 * that no fault silences. A verdict about leases means nothing on a machine that stands still
 * for a good part of one.
 */
import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks';
import type { Actor } from './actor.ts';

export interface SilentTime {
  readonly worker: string;
  readonly fromNs: bigint;
  readonly toNs: bigint;
}

interface Gap {
  readonly worker: string;
  readonly fromNs: bigint;
  readonly toNs: bigint;
}

const resolutionMs = 10;
const gapsKept = 50;

export class LagMeter {
  readonly #loop: IntervalHistogram = monitorEventLoopDelay({ resolution: resolutionMs });
  readonly #heartbeatEveryMs: number;
  readonly #gaps: Gap[] = [];

  constructor(actors: Iterable<Actor>, heartbeatEveryMs: number) {
    this.#heartbeatEveryMs = heartbeatEveryMs;
    this.#loop.enable();
    for (const actor of actors) this.#listen(actor);
  }

  /** The longest delay in ms; gaps that overlap a silencing fault do not count. */
  stop(silent: readonly SilentTime[]): number {
    this.#loop.disable();
    const own = Math.max(0, this.#loop.max / 1e6 - resolutionMs);
    const late = this.#gaps
      .filter((gap) => !silent.some((time) => overlaps(gap, time)))
      .map(({ fromNs, toNs }) => Number(toNs - fromNs) / 1e6 - this.#heartbeatEveryMs);
    return Math.round(Math.max(own, 0, ...late));
  }

  #listen(actor: Actor): void {
    let lastNs: bigint | undefined;
    actor.handle.onMessage(({ message }) => {
      if (message.type !== 'heartbeat') return;
      const atNs = BigInt(message.atNs);
      if (lastNs !== undefined) this.#keep({ worker: actor.id, fromNs: lastNs, toNs: atNs });
      lastNs = atNs;
    });
  }

  /** Keeps the longest gaps only. */
  #keep(gap: Gap): void {
    this.#gaps.push(gap);
    if (this.#gaps.length <= 2 * gapsKept) return;
    this.#gaps.sort((a, b) => Number(b.toNs - b.fromNs - (a.toNs - a.fromNs)));
    this.#gaps.length = gapsKept;
  }
}

function overlaps(gap: Gap, time: SilentTime): boolean {
  return gap.worker === time.worker && gap.fromNs < time.toNs && gap.toNs > time.fromNs;
}
