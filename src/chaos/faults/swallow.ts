/**
 * One exchange of a worker that is lost on the way: its request never arrives, or its reply never
 * comes back. To the worker both look the same; what the server then has tells them apart. This is
 * what lose-request and lose-reply share.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { FencepostError } from '../../domain/errors.ts';
import type { Evidence } from '../../domain/evidence.ts';
import type { ObservedState } from '../../protocols/protocol.ts';
import type { ArmedSwallow, Swallowed, SwallowRule, WorkerProxy } from '../proxy.ts';
import type { Received, WorkerHandle } from '../worker.ts';
import type { ActiveFault, Fault, FaultContext, FaultPlace } from './fault.ts';
import { openProbe } from './probe.ts';

/** How it is done at each proxy; tests break these to see that the evidence notices. */
export interface Swallower {
  arm(proxy: WorkerProxy, rule: SwallowRule): ArmedSwallow;
  disarm(armed: ArmedSwallow): void;
}

const byProxy: Swallower = {
  arm: (proxy, rule) => proxy.arm(rule),
  disarm(armed) {
    armed.disarm();
  },
};

type What = SwallowRule['what'];
const operations = ['acquire', 'confirm', 'renew', 'release', 'write'] as const;
type Operation = (typeof operations)[number];

/** Longer than a worker waits for a reply. */
const answerWithinMs = 8000;
const lookEveryMs = 10;
const probeTimeoutMs = 2000;

/** @param broken what of the shipped injector is swapped out */
export function createSwallow(
  { name, title, what }: Pick<Fault, 'name' | 'title'> & { readonly what: What },
  broken: Partial<Swallower> = {},
): Fault {
  const swallower = { ...byProxy, ...broken };
  return {
    name,
    title,
    options: z.strictObject({ of: z.enum(operations), nth: z.int().min(1).max(1000).optional() }),
    kind: 'lasting',
    silences: false,
    undo: 'the next ones pass; by the reaper: SIGKILL',
    unavailable: notAimed,
    begin: (context) => beginSwallow(context, what, swallower),
  };
}

function notAimed({ protocol, kind }: FaultPlace): string | undefined {
  if (protocol.wire === undefined) return 'its requests cannot be told apart on the wire';
  if (kind !== 'redlock') return undefined;
  return 'an operation is a request to each of its servers, and one of them decides nothing';
}

async function beginSwallow(
  context: FaultContext,
  what: What,
  swallower: Swallower,
): Promise<ActiveFault> {
  const { worker, proxies, options } = context;
  const operation = operations.find((known) => known === options['of']) ?? 'acquire';
  const nth = typeof options['nth'] === 'number' ? options['nth'] : 1;
  const aimed = operation === 'write' ? [proxies.resource] : proxies.service;
  await context.willDo(`one ${operation} ${what} of worker ${worker.id} lost`);
  const answers = new Answers(worker, operation);
  const before = await lookAt(context, operation);
  const frames = (): number =>
    aimed.reduce((sum, proxy) => sum + proxy.counters(wayOf(what)).framesDropped, 0);
  const framesBefore = frames();
  const armed = aimed.map((proxy) => swallower.arm(proxy, { what, action: operation, nth }));
  const disarm = (): void => {
    for (const one of armed) swallower.disarm(one);
  };
  let loss: Loss | undefined;
  const done = firstHit(armed).then(async (hit) => {
    if (hit === undefined) return;
    // Exactly one: no other server's proxy may take one more.
    disarm();
    const framesLost = frames() - framesBefore;
    loss = { hit, framesLost, after: await lookAt(context, operation) };
  });
  let ending: Promise<readonly Evidence[]> | undefined;
  const end = async (): Promise<readonly Evidence[]> => {
    disarm();
    await done;
    if (loss === undefined) {
      answers.close();
      return [neverCame(context, operation)];
    }
    return [
      exchangeEvidence(context, operation, what, loss),
      ...stateEvidence(context, operation, what, before, loss),
      await answers.evidence(context),
      ...(operation === 'write' ? [] : [await openEvidence(context)]),
    ];
  };
  return { target: worker.id, evidence: [], end: () => (ending ??= end()) };
}

interface Loss {
  readonly hit: Swallowed;
  readonly framesLost: number;
  readonly after: Look | undefined;
}

/** What the server showed, and between which times, in ms. */
interface Look {
  readonly state: ObservedState;
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
}

function wayOf(what: What): 'to-server' | 'to-worker' {
  return what === 'request' ? 'to-server' : 'to-worker';
}

/** The first that hits; undefined once none can any more. */
async function firstHit(armed: readonly ArmedSwallow[]): Promise<Swallowed | undefined> {
  return new Promise((resolve, reject) => {
    const all = armed.map(async (one) => {
      const hit = await one.hit;
      if (hit !== undefined) resolve(hit);
    });
    Promise.all(all).then(() => {
      resolve(undefined);
    }, reject);
  });
}

/** Undefined for business operations, and when the server does not answer. */
async function lookAt(
  { observer, lock }: FaultContext,
  operation: Operation,
): Promise<Look | undefined> {
  if (operation === 'write') return undefined;
  const askedAtMs = performance.now();
  try {
    const state = await observer.state(lock);
    return { state, askedAtMs, answeredAtMs: performance.now() };
  } catch (error) {
    // Told as missing evidence.
    if (error instanceof FencepostError) return undefined;
    throw error;
  }
}

function neverCame({ worker, nowNs }: FaultContext, operation: Operation): Evidence {
  return {
    source: `proxies of ${worker.id}`,
    atNs: nowNs(),
    fact: `no such ${operation} of ${worker.id} came by`,
    proves: 'one exchange was lost',
    holds: false,
  };
}

function exchangeEvidence(
  { worker, nowNs }: FaultContext,
  operation: Operation,
  what: What,
  { hit, framesLost }: Loss,
): Evidence {
  const { requestBytesForwarded: sent, replyBytesReceived: back, replyBytesForwarded } = hit;
  const passed = `${sent} request bytes forwarded, ${back} reply bytes received, ${replyBytesForwarded} forwarded`;
  const isRight = what === 'request' ? sent === 0 && back === 0 : sent > 0 && back > 0;
  return {
    source: `proxies of ${worker.id}`,
    atNs: nowNs(),
    fact: `one ${operation}: ${passed}; ${framesLost} lost ${wayOf(what)}`,
    proves: what === 'request' ? 'its request never arrived' : 'it arrived, its reply was lost',
    holds: isRight && replyBytesForwarded === 0 && framesLost === 1,
  };
}

/** The server's own word: it did what was asked, or never heard of it. */
function stateEvidence(
  context: FaultContext,
  operation: Operation,
  what: What,
  before: Look | undefined,
  { after }: Loss,
): readonly Evidence[] {
  if (operation === 'confirm' || operation === 'write') return [];
  const { owner, nowNs } = context;
  const about = {
    source: 'observer connection',
    atNs: nowNs(),
    proves: what === 'request' ? 'the server never got it' : 'the server did it',
  };
  if (after === undefined) return [{ ...about, fact: 'the server did not answer', holds: false }];
  const { state } = after;
  const held = state.kind === 'held' && state.owner === owner;
  if (operation !== 'renew') {
    const done = operation === 'acquire' ? held : !held;
    const fact = held ? `the lock is held by ${state.owner}` : 'the lock is not held by it';
    return [{ ...about, fact, holds: done === (what === 'reply') }];
  }
  const grown = grownMs(before, after, context);
  if (grown === undefined) return [];
  const fact = `the lease is ${grown.byMs.toFixed(0)} ms longer than without it`;
  return [{ ...about, fact, holds: grown.isLonger === (what === 'reply') }];
}

/** The server counts in its own steps, and answers a moment after it looked. */
const leastMs = 100;

/** How much longer a lease is than it would be had it run on; undefined when that cannot be told. */
function grownMs(
  before: Look | undefined,
  after: Look,
  { protocol }: FaultContext,
): { readonly byMs: number; readonly isLonger: boolean } | undefined {
  const [then, now] = [before?.state, after.state];
  if (before === undefined || then?.kind !== 'held' || now.kind !== 'held') return undefined;
  if (then.owner !== now.owner || then.ttlMs === undefined || now.ttlMs === undefined)
    return undefined;
  const enoughMs = leastMs + protocol.expiryGranularityMs;
  const elapsedMs = after.askedAtMs - before.answeredAtMs;
  if (elapsedMs < 2 * enoughMs) return undefined;
  const byMs = now.ttlMs - (then.ttlMs - elapsedMs);
  return { byMs, isLonger: byMs > enoughMs };
}

/** What the worker itself says of its operations of one kind, from the moment that this was made. */
class Answers {
  readonly #worker: WorkerHandle;
  readonly #operation: Operation;
  readonly #outcomes: string[] = [];
  #unknown: string | undefined;
  #exited = false;
  readonly #unsubscribe: () => void;

  constructor(worker: WorkerHandle, operation: Operation) {
    this.#worker = worker;
    this.#operation = operation;
    this.#unsubscribe = worker.onMessage((received) => {
      this.#take(received);
    });
    void worker.exit.then(() => {
      this.#exited = true;
    });
  }

  close(): void {
    this.#unsubscribe();
  }

  async evidence({ nowNs }: FaultContext): Promise<Evidence> {
    const deadline = performance.now() + answerWithinMs;
    while (this.#unknown === undefined && !this.#exited && performance.now() < deadline) {
      await delay(lookEveryMs);
    }
    this.close();
    const ended = this.#exited ? `worker ${this.#worker.id} ended before an answer` : undefined;
    const told = this.#outcomes.length === 0 ? 'no answer' : this.#outcomes.join(', ');
    return {
      source: `worker ${this.#worker.id}`,
      atNs: nowNs(),
      fact: this.#unknown ?? ended ?? `${this.#operation}: ${told}`,
      proves: 'the worker does not know what became of it',
      holds: this.#unknown !== undefined || ended !== undefined,
    };
  }

  #take({ message }: Received): void {
    const action = this.#operation === 'write' ? 'business' : this.#operation;
    if (message.type !== 'result' || message.action !== action) return;
    this.#outcomes.push(message.outcome);
    if (message.outcome !== 'unknown') return;
    this.#unknown ??= `${this.#operation}: outcome unknown (${message.code ?? 'no code'})`;
  }
}

/** A client that goes the same way is answered: nothing more is lost. */
async function openEvidence(context: FaultContext): Promise<Evidence> {
  const { worker, nowNs } = context;
  let fact = 'the next one was answered';
  let holds = true;
  try {
    const probe = await openProbe(context, probeTimeoutMs);
    await probe.close();
  } catch (error) {
    if (!(error instanceof FencepostError)) throw error;
    fact = 'the next one was not answered either';
    holds = false;
  }
  const source = `probe by the proxies of ${worker.id}`;
  return { source, atNs: nowNs(), fact, proves: 'no more than one was lost', holds };
}
