/**
 * A delay between a worker and its lock service, one way or both: every frame of that way arrives
 * late, in order. Which way it is is seen by the bytes that wait in the proxy; how long it lasts, by
 * the time that questions take which go the same way.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { parseDuration } from '../../domain/duration.ts';
import type { Evidence } from '../../domain/evidence.ts';
import { durationShape } from '../../files/shapes.ts';
import type { Direction, WorkerProxy } from '../proxy.ts';
import type { ActiveFault, Fault, FaultContext } from './fault.ts';
import { openProbe, type Probe } from './probe.ts';
import { untilTrue } from './until-true.ts';

/** How it is done to each proxy; tests break it to see that the evidence notices. */
export type Delayer = (proxy: WorkerProxy, way: Direction, delayMs: number) => void;

const byProxy: Delayer = (proxy, way, delayMs) => {
  proxy.delay(way, delayMs);
};

const ways = ['to-server', 'to-worker'] as const;
const leastMs = 50;
const mostMs = 60_000;
/** Timers of Node may fire a little early. */
const earlyMs = 5;
const lookEveryMs = 5;
const askEveryMs = 50;
const answerWithinMs = 2000;
/** Of one question, one after the other, in any protocol. */
const mostRequests = 3;

/** How long proof is waited for, besides the delay itself. */
export interface DelayPatience {
  readonly beginMs: number;
  readonly healMs: number;
}

const byDefault: DelayPatience = { beginMs: 2000, healMs: 10_000 };

/** @param delayer the injector instead of the shipped one */
export function createDelay(delayer: Delayer = byProxy, patience = byDefault): Fault {
  return {
    name: 'delay',
    title: 'hold up what goes between a worker and the lock service, one way or both',
    options: z.strictObject({
      by: durationShape
        .refine((by) => by >= leastMs && by <= mostMs, 'from 50ms to 60s')
        .transform((by) => `${by}ms`),
      way: z.enum([...ways, 'both']).optional(),
    }),
    kind: 'lasting',
    silences: false,
    undo: 'what comes from then on passes at once; by the reaper: SIGKILL',
    begin: (context) => beginDelay(context, delayer, patience),
  };
}

export const delay: Fault = createDelay();

async function beginDelay(
  context: FaultContext,
  delayer: Delayer,
  { beginMs, healMs }: DelayPatience,
): Promise<ActiveFault> {
  const { worker, proxies, options } = context;
  const { service } = proxies;
  const late = ways.filter(
    (one) => (options['way'] ?? 'both') === 'both' || options['way'] === one,
  );
  const byMs = parseDuration(String(options['by']));
  const probe = await openProbe(context, mostRequests * late.length * byMs + answerWithinMs);
  const lift = (): void => {
    for (const proxy of service) for (const way of late) delayer(proxy, way, 0);
  };
  const asking = new Asking(probe, service);
  try {
    await context.willDo(`what goes ${late.join(' and ')} of worker ${worker.id} held up`);
    for (const proxy of service) for (const way of late) delayer(proxy, way, byMs);
    asking.start();
    // Replies come only after requests have arrived.
    const waited = (): boolean => late.every((way) => asking.waited(way));
    await untilTrue(waited, late.length * byMs + beginMs, context.signal, lookEveryMs);
  } catch (error) {
    lift();
    await asking.stop();
    await probe.close();
    throw error;
  }
  let ending: Promise<readonly Evidence[]> | undefined;
  const end = async (): Promise<readonly Evidence[]> => {
    const waiting = asking.waitingEvidence(context, late);
    const answered = [...asking.tookMs];
    lift();
    await asking.stop();
    // One that is on its way still waits on its first way; nothing holds up its answer any more.
    const slow =
      answered.length > 0
        ? slowEvidence(context, answered, late.length * byMs)
        : slowEvidence(context, asking.tookMs, byMs);
    const healed = await healedEvidence(context, probe, byMs, healMs);
    await probe.close();
    return [...waiting, slow, healed];
  };
  const evidence = asking.waitingEvidence(context, late);
  return { target: worker.id, evidence, end: () => (ending ??= end()) };
}

/** Asks one question after the other, and sees what waits in the proxies meanwhile. */
class Asking {
  readonly #probe: Probe;
  readonly #proxies: readonly WorkerProxy[];
  readonly #waitedBytes: Record<Direction, number> = { 'to-server': 0, 'to-worker': 0 };
  /** Bytes whose connection is gone wait for ever. */
  readonly #lost: Readonly<Record<Direction, number>>;
  readonly #took: number[] = [];
  #stopped = false;
  #asking: Promise<void> = Promise.resolve();
  #looking: Promise<void> = Promise.resolve();

  constructor(probe: Probe, proxies: readonly WorkerProxy[]) {
    this.#probe = probe;
    this.#proxies = proxies;
    this.#lost = {
      'to-server': this.#waiting('to-server'),
      'to-worker': this.#waiting('to-worker'),
    };
  }

  /** How long each question took that was answered. */
  get tookMs(): readonly number[] {
    return this.#took;
  }

  waited(way: Direction): boolean {
    return this.#waitedBytes[way] > 0;
  }

  start(): void {
    this.#asking = this.#askOn();
    this.#looking = this.#lookOn();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#asking;
    await this.#looking;
  }

  waitingEvidence({ nowNs }: FaultContext, late: readonly Direction[]): readonly Evidence[] {
    return ways.map((way) => {
      const bytes = this.#waitedBytes[way];
      const isLate = late.includes(way);
      return {
        source: 'counters of the proxies',
        atNs: nowNs(),
        fact: `${way}: ${bytes === 0 ? 'nothing was ever seen to wait' : `${bytes} bytes seen to wait`}`,
        proves: isLate ? `what goes ${way} is held up` : `what goes ${way} is not held up`,
        holds: bytes > 0 === isLate,
      };
    });
  }

  async #askOn(): Promise<void> {
    while (!this.#stopped) {
      const askedAt = performance.now();
      if (await this.#probe.ask()) this.#took.push(performance.now() - askedAt);
      await sleep(askEveryMs);
    }
  }

  /** A frame of which a part is still to come does not wait: what counts is seen twice. */
  async #lookOn(): Promise<void> {
    const before = { ...this.#lost };
    while (!this.#stopped) {
      for (const way of ways) {
        const now = this.#waiting(way);
        const bytes = Math.min(before[way], now) - this.#lost[way];
        this.#waitedBytes[way] = Math.max(this.#waitedBytes[way], bytes);
        before[way] = now;
      }
      await sleep(lookEveryMs);
    }
  }

  #waiting(way: Direction): number {
    return this.#proxies.reduce((sum, proxy) => {
      const { bytesIn, bytesForwarded, bytesDropped } = proxy.counters(way);
      return sum + bytesIn - bytesForwarded - bytesDropped;
    }, 0);
  }
}

function slowEvidence(
  { worker, nowNs }: FaultContext,
  tookMs: readonly number[],
  leastTookMs: number,
): Evidence {
  const fastestMs = Math.min(...tookMs);
  const told =
    tookMs.length === 0
      ? 'no question was answered'
      : `each of ${tookMs.length} questions took ${fastestMs.toFixed(0)} ms or more`;
  return {
    source: `probe by the proxies of ${worker.id}`,
    atNs: nowNs(),
    fact: told,
    proves: `the way there and back takes ${leastTookMs} ms longer`,
    holds: tookMs.length > 0 && fastestMs >= leastTookMs - earlyMs,
  };
}

async function healedEvidence(
  { worker, nowNs }: FaultContext,
  probe: Probe,
  byMs: number,
  withinMs: number,
): Promise<Evidence> {
  const deadline = performance.now() + withinMs;
  const ask = async (): Promise<number | undefined> => {
    const askedAt = performance.now();
    return (await probe.ask()) ? performance.now() - askedAt : undefined;
  };
  let tookMs = await ask();
  while (!isQuick(tookMs, byMs) && performance.now() < deadline) tookMs = await ask();
  return {
    source: `probe by the proxies of ${worker.id}`,
    atNs: nowNs(),
    fact: tookMs === undefined ? 'no answer' : `a question took ${tookMs.toFixed(0)} ms again`,
    proves: 'the delay was undone',
    holds: isQuick(tookMs, byMs),
  };
}

/** Timers may fire early: an answer that was held up must never pass for one that was not. */
function isQuick(tookMs: number | undefined, byMs: number): boolean {
  return tookMs !== undefined && tookMs < byMs / 2;
}
