/**
 * Pause of a worker: SIGSTOP to its whole process group, timers and all, until SIGCONT. That it
 * stood still is read from the operating system and from the silence of its heartbeats.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { FaultNotApplied } from '../../domain/errors.ts';
import type { Evidence } from '../../domain/evidence.ts';
import { openProcessReader, type ProcessFacts } from '../../processes/process-evidence.ts';
import type { WorkerHandle } from '../worker.ts';
import type { ActiveFault, Fault, FaultContext } from './fault.ts';
import { HeartbeatWatch } from './heartbeat-watch.ts';

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
    return [still, idle, await beats.evidence('pause', resumingNs, nowNs)];
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
