/**
 * A cut between a worker and its lock service, one way or both: bytes of that way are dropped, the
 * connections stay. That the other way is open is proven, too: a cut of both ways looks the same to
 * the worker, but not to its lock, which a renewal still reaches when only the replies are lost.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Evidence } from '../../domain/evidence.ts';
import type { Direction, WorkerProxy } from '../proxy.ts';
import type { ActiveFault, Fault, FaultContext } from './fault.ts';
import { openProbe, type Probe } from './probe.ts';
import { untilTrue } from './until-true.ts';

/** How it is done to each proxy; tests break these to see that the evidence notices. */
export interface Cutter {
  cut(proxy: WorkerProxy, way: Direction | 'both'): void;
  heal(proxy: WorkerProxy): void;
}

const byProxy: Cutter = {
  cut(proxy, way) {
    proxy.cut(way);
  },
  heal(proxy) {
    proxy.heal();
  },
};

const ways = ['to-server', 'to-worker'] as const;
const probeTimeoutMs = 800;
/** How long what is on its way is held up, so that it is still on its way when the cut comes. */
const heldMs = 60;
const lookEveryMs = 10;
const askEveryMs = 100;

/** How long proof is waited for. */
export interface CutPatience {
  readonly beginMs: number;
  readonly healMs: number;
}

/** @param broken what of the shipped injector is swapped out */
export function createCut(
  broken: Partial<Cutter> = {},
  patience: CutPatience = { beginMs: 2000, healMs: 10_000 },
): Fault {
  const cutter = { ...byProxy, ...broken };
  return {
    name: 'cut',
    title: 'drop the bytes between a worker and the lock service, one way or both',
    options: z.strictObject({ way: z.enum([...ways, 'both']).optional() }),
    kind: 'lasting',
    silences: false,
    undo: 'bytes pass again, connections that lost some are closed; by the reaper: SIGKILL',
    begin: (context) => beginCut(context, cutter, patience),
  };
}

export const cut: Fault = createCut();

function wayOf({ options }: FaultContext): Direction | 'both' {
  return ways.find((way) => way === options['way']) ?? 'both';
}

async function beginCut(
  context: FaultContext,
  cutter: Cutter,
  { beginMs, healMs }: CutPatience,
): Promise<ActiveFault> {
  const { worker, proxies, nowNs } = context;
  const way = wayOf(context);
  const used = await usedEvidence(context);
  const probe = await openProbe(context, probeTimeoutMs);
  const probing = new Probing(probe);
  let ending: Promise<readonly Evidence[]> | undefined;
  const end = async (): Promise<readonly Evidence[]> => {
    const proof = counts.evidence(context, way);
    for (const proxy of proxies.service) cutter.heal(proxy);
    await probing.stop();
    const healed = await healedEvidence(probe, worker.id, healMs, nowNs);
    await probe.close();
    return [...proof, healed];
  };
  let counts: Counts;
  try {
    await context.willDo(`worker ${worker.id} cut off (${way})`);
    counts = await cutOff(context, cutter, beginMs, probing);
  } catch (error) {
    for (const proxy of proxies.service) cutter.heal(proxy);
    await probing.stop();
    await probe.close();
    throw error;
  }
  const evidence = [used, ...counts.evidence(context, way)];
  return { target: worker.id, evidence, end: () => (ending ??= end()) };
}

/**
 * Cuts while a question of the probe is held up between worker and server: its reply comes after the
 * cut, and shows that the way back is open where it should be.
 */
async function cutOff(
  context: FaultContext,
  cutter: Cutter,
  beginMs: number,
  probing: Probing,
): Promise<Counts> {
  const { proxies, signal } = context;
  const { service } = proxies;
  const way = wayOf(context);
  const asked = new Counts(service);
  for (const proxy of service) proxy.delay('to-server', heldMs);
  probing.start();
  const arrived = (): boolean => asked.all((since) => since('to-server').bytesIn > 0);
  await untilTrue(arrived, beginMs, signal, lookEveryMs);
  for (const proxy of service) cutter.cut(proxy, way);
  const opened = new Counts(service);
  for (const proxy of service) proxy.delay('to-server', 0);
  await delay(heldMs + lookEveryMs, undefined, { signal });
  const counts = new Counts(service, opened);
  await untilTrue(() => counts.shows(way), beginMs, signal, lookEveryMs);
  return counts;
}

type Since = (way: Direction) => ReturnType<WorkerProxy['counters']>;

/** The proxies' counters, from the moment that this was made. */
class Counts {
  readonly #proxies: readonly WorkerProxy[];
  readonly #begun: readonly Readonly<Record<Direction, ReturnType<WorkerProxy['counters']>>>[];
  /** For the way that is open: replies to what was on its way already. */
  readonly #opened: Counts;

  constructor(proxies: readonly WorkerProxy[], opened?: Counts) {
    this.#proxies = proxies;
    this.#begun = proxies.map((proxy) => ({
      'to-server': proxy.counters('to-server'),
      'to-worker': proxy.counters('to-worker'),
    }));
    this.#opened = opened ?? this;
  }

  all(holds: (since: Since) => boolean): boolean {
    return this.#proxies.every((_, index) => holds((way) => this.#since(index, way)));
  }

  /** Whether the counters prove the cut by now. */
  shows(way: Direction | 'both'): boolean {
    return ways.every((one) =>
      this.#proxies.every((_, index) =>
        way === 'both' || one === way
          ? this.#isCut(index, one, way)
          : this.#opened.#isOpen(index, one),
      ),
    );
  }

  evidence({ nowNs }: FaultContext, way: Direction | 'both'): readonly Evidence[] {
    return this.#proxies.flatMap(({ name }, index) =>
      ways.map((one) => {
        const isCutWay = way === 'both' || one === way;
        const from = isCutWay ? this : this.#opened;
        const { bytesForwarded, bytesDropped } = from.#since(index, one);
        return {
          source: `counters of proxy ${name}`,
          atNs: nowNs(),
          fact: `${one}: ${bytesForwarded} bytes forwarded, ${bytesDropped} dropped`,
          proves: isCutWay ? `nothing passed ${one}` : `the way ${one} was open`,
          holds: isCutWay ? this.#isCut(index, one, way) : from.#isOpen(index, one),
        };
      }),
    );
  }

  /** Without requests there are no replies to drop: when both ways are cut, requests must be. */
  #isCut(index: number, one: Direction, way: Direction | 'both'): boolean {
    const { bytesForwarded, bytesDropped } = this.#since(index, one);
    const tried = bytesDropped > 0 || (way === 'both' && one === 'to-worker');
    return bytesForwarded === 0 && tried;
  }

  #isOpen(index: number, one: Direction): boolean {
    const { bytesForwarded, bytesDropped } = this.#since(index, one);
    return bytesForwarded > 0 && bytesDropped === 0;
  }

  #since(index: number, way: Direction): ReturnType<WorkerProxy['counters']> {
    const now = this.#proxies[index]?.counters(way);
    const then = this.#begun[index]?.[way];
    if (now === undefined || then === undefined) throw new Error(`there is no proxy ${index}`);
    return {
      bytesIn: now.bytesIn - then.bytesIn,
      bytesForwarded: now.bytesForwarded - then.bytesForwarded,
      bytesDropped: now.bytesDropped - then.bytesDropped,
      framesIn: now.framesIn - then.framesIn,
      framesDropped: now.framesDropped - then.framesDropped,
    };
  }
}

/** Questions one after the other, as long as the cut lasts: an opening in between would be seen. */
class Probing {
  readonly #probe: Probe;
  #stopped = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(probe: Probe) {
    this.#probe = probe;
  }

  start(): void {
    this.#loop = this.#askOn();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#loop;
  }

  async #askOn(): Promise<void> {
    while (!this.#stopped) {
      await this.#probe.ask();
      await delay(askEveryMs);
    }
  }
}

/** A worker that went round its proxies would not feel the cut. */
async function usedEvidence({ worker, proxies, observer, nowNs }: FaultContext): Promise<Evidence> {
  const bytes = proxies.service.reduce((sum, one) => sum + one.counters('to-server').bytesIn, 0);
  const ours = proxies.service.flatMap((one) => one.upstreamAddresses());
  const seen = await observer.clientAddresses();
  const strangers = seen === undefined ? [] : ours.filter((address) => !seen.includes(address));
  const told =
    seen === undefined
      ? 'the server does not tell its clients'
      : `the server sees ${ours.length - strangers.length} of its ${ours.length} connections`;
  return {
    source: `proxies of ${worker.id}`,
    atNs: nowNs(),
    fact: `${bytes} bytes from it before; ${told}`,
    proves: `worker ${worker.id} goes by its proxies`,
    holds: bytes > 0 && strangers.length === 0,
  };
}

async function healedEvidence(
  probe: Probe,
  worker: string,
  withinMs: number,
  nowNs: () => bigint,
): Promise<Evidence> {
  const deadline = performance.now() + withinMs;
  let answered = await probe.ask();
  while (!answered && performance.now() < deadline) answered = await probe.ask();
  return {
    source: `probe by the proxies of ${worker}`,
    atNs: nowNs(),
    fact: answered ? 'answered again' : `no answer within ${withinMs} ms of the healing`,
    proves: 'the cut was undone',
    holds: answered,
  };
}
