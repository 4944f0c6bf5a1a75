/**
 * Pause of a worker: SIGSTOP to its whole process group, timers and all, until SIGCONT. That it
 * stood still is read from the operating system and from the silence of its heartbeats.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { FaultNotApplied } from '../../domain/errors.ts';
import type { Evidence } from '../../domain/evidence.ts';
import { openProcessReader, type ProcessFacts } from '../../processes/process-evidence.ts';
import type { Received, WorkerHandle } from '../worker.ts';
import type { ActiveFault, Fault, FaultContext } from './fault.ts';

export const pause: Fault = createPause((worker, name) => worker.signal(name));

type SendSignal = (worker: WorkerHandle, name: 'SIGSTOP' | 'SIGCONT') => Promise<boolean>;

const stopDeadlineMs = 1000;
const lookEveryMs = 5;
/** Longer than one tick of the processor-time count. */
const restMs = 15;

/** @param send how signals are sent; tests break it to see that the evidence notices */
export function createPause(send: SendSignal): Fault {
  return {
    name: 'pause',
    title: 'stop a worker as a whole process (SIGSTOP), timers and all',
    options: z.strictObject({}),
    kind: 'lasting',
    silences: true,
    undo: 'SIGCONT; by the reaper: SIGKILL, a resumed orphan would write',
    begin: (context) => beginPause(context, send),
  };
}

async function beginPause(context: FaultContext, send: SendSignal): Promise<ActiveFault> {
  const { worker, nowNs } = context;
  await context.willDo(`worker ${worker.id} stopped by SIGSTOP`);
  if (!(await send(worker, 'SIGSTOP'))) {
    throw new FaultNotApplied(`worker ${worker.id} had ended before it could be paused`, {
      code: 'fault-not-applied',
      definite: true,
    });
  }
  const before = await groupAtRest(worker);
  const beats = new HeartbeatWatch(worker);
  const evidence = [stoppedEvidence(worker, before, nowNs())];
  let ending: Promise<readonly Evidence[]> | undefined;
  const end = async (): Promise<readonly Evidence[]> => {
    const after = await openProcessReader().readGroup(worker.group.pid);
    const still = stoppedEvidence(worker, after, nowNs());
    const idle = idleEvidence(worker, before, after, nowNs());
    const resumingNs = process.hrtime.bigint();
    await send(worker, 'SIGCONT');
    await groupWhen(worker, (group) => !group.some(isStopped));
    return [still, idle, await beats.evidence(resumingNs, nowNs)];
  };
  return { target: worker.id, evidence, end: () => (ending ??= end()) };
}

function isStopped({ state }: ProcessFacts): boolean {
  return state === 'T' || state === 't';
}

/** The group once `wanted` is true of it, or as it is at the deadline. */
async function groupWhen(
  worker: WorkerHandle,
  wanted: (group: readonly ProcessFacts[]) => boolean,
): Promise<readonly ProcessFacts[]> {
  const deadline = performance.now() + stopDeadlineMs;
  for (;;) {
    const group = await openProcessReader().readGroup(worker.group.pid);
    if (wanted(group) || performance.now() > deadline) return group;
    await delay(lookEveryMs);
  }
}

/** /proc shows the leading thread; the others come to rest a moment later, and so does their time. */
async function groupAtRest(worker: WorkerHandle): Promise<readonly ProcessFacts[]> {
  const deadline = performance.now() + stopDeadlineMs;
  let group = await groupWhen(worker, (seen) => seen.every(isStopped));
  for (;;) {
    await delay(restMs);
    const again = await openProcessReader().readGroup(worker.group.pid);
    if (cpuMs(again) === cpuMs(group) || performance.now() > deadline) return again;
    group = again;
  }
}

function cpuMs(group: readonly ProcessFacts[]): number {
  return group.reduce((sum, facts) => sum + facts.cpuMs, 0);
}

function stoppedEvidence(
  worker: WorkerHandle,
  group: readonly ProcessFacts[],
  atNs: bigint,
): Evidence {
  const stopped = group.filter(isStopped).length;
  return {
    source: openProcessReader().source,
    atNs,
    fact: `${stopped} of ${group.length} ${group.length === 1 ? 'process' : 'processes'} in state T`,
    proves: `worker ${worker.id} is stopped`,
    holds: group.length > 0 && stopped === group.length,
  };
}

function idleEvidence(
  worker: WorkerHandle,
  before: readonly ProcessFacts[],
  after: readonly ProcessFacts[],
  atNs: bigint,
): Evidence {
  const pids = (group: readonly ProcessFacts[]): string => group.map(({ pid }) => pid).join(',');
  const usedMs = cpuMs(after) - cpuMs(before);
  return {
    source: openProcessReader().source,
    atNs,
    fact: `${usedMs} ms of processor time used, ${pids(before) === pids(after) ? 'same processes' : 'other processes'}`,
    proves: `worker ${worker.id} did nothing while paused`,
    holds: usedMs === 0 && pids(before) === pids(after),
  };
}

const beatDeadlineMs = 2000;

/** The worker's own sequence: its heartbeats must have a hole as long as the pause. */
class HeartbeatWatch {
  readonly #worker: WorkerHandle;
  readonly #beatsNs: bigint[] = [];
  readonly #stoppedNs = process.hrtime.bigint();
  readonly #unsubscribe: () => void;

  constructor(worker: WorkerHandle) {
    this.#worker = worker;
    this.#unsubscribe = worker.onMessage(({ message }: Received) => {
      if (message.type === 'heartbeat') this.#beatsNs.push(BigInt(message.atNs));
    });
  }

  /** @param resumingNs monotonic ns just before the resume */
  async evidence(resumingNs: bigint, nowNs: () => bigint): Promise<Evidence> {
    const deadline = performance.now() + beatDeadlineMs;
    // Heartbeats written before the stop may be read after it; their own stamps tell them apart.
    const first = (): bigint | undefined => this.#beatsNs.find((at) => at > this.#stoppedNs);
    while (first() === undefined && performance.now() < deadline) await delay(lookEveryMs);
    this.#unsubscribe();
    const next = first();
    const ms = (ns: bigint): string => (Number(ns) / 1e6).toFixed(0);
    return {
      source: 'heartbeats',
      atNs: nowNs(),
      fact:
        next === undefined
          ? 'no heartbeat after it was resumed'
          : `no heartbeat for ${ms(next - this.#stoppedNs)} ms, then again`,
      proves: `worker ${this.#worker.id} was silent for the ${ms(resumingNs - this.#stoppedNs)} ms of its pause`,
      holds: next !== undefined && next >= resumingNs,
    };
  }
}
