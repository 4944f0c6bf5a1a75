/**
 * Starvation of a worker's renewals: its event loop is kept busy while the process lives, as by a
 * long computation or garbage collection. To the system it runs; to the lock service it is silent.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Evidence } from '../../domain/evidence.ts';
import { openProcessReader, type ProcessFacts } from '../../processes/process-evidence.ts';
import type { WorkerHandle } from '../worker.ts';
import type { ActiveFault, Fault, FaultContext } from './fault.ts';
import { HeartbeatWatch } from './heartbeat-watch.ts';

/** How the worker is told, and how it is let go; tests break these to see that the evidence notices. */
export interface Starver {
  begin(worker: WorkerHandle, file: string, atMostMs: number): void;
  end(file: string): void;
}

const byFile: Starver = {
  begin(worker, file, atMostMs) {
    writeFileSync(file, '');
    worker.starve(file, atMostMs);
  },
  end(file) {
    rmSync(file, { force: true });
  },
};

const lookEveryMs = 10;
/** Several heartbeats long. */
const silenceMs = 200;
/** The processor's time is counted in ticks of 10 ms. */
const leastCpuMs = 20;

/**
 * @param broken what of the shipped injector is swapped out
 * @param beginMs how long proof of the begin is waited for
 */
export function createStarve(broken: Partial<Starver> = {}, beginMs = 2000): Fault {
  const starver = { ...byFile, ...broken };
  return {
    name: 'starve',
    title: "keep a worker's event loop busy, so that it renews nothing while it runs",
    options: z.strictObject({}),
    kind: 'lasting',
    silences: true,
    undo: 'the event loop is let go; by the reaper: SIGKILL',
    honour: 'starve',
    begin: (context) => beginStarve(context, starver, beginMs),
  };
}

export const starve: Fault = createStarve();

async function beginStarve(
  context: FaultContext,
  starver: Starver,
  beginMs: number,
): Promise<ActiveFault> {
  const { worker, nowNs, lifetimeMs, folder, id } = context;
  await context.willDo(`worker ${worker.id} starved`);
  const file = join(folder, `starving-${id}`);
  const before = await groupOf(worker);
  const sinceMs = performance.now();
  // Its own bound is a little later than ours: the runner ends it, not the clock of the worker.
  starver.begin(worker, file, lifetimeMs + beginMs);
  const [silent, group] = await untilSilent(worker, before, beginMs);
  const beats = new HeartbeatWatch(worker);
  const bytes = bytesToServers(context);
  const evidence = [
    {
      source: 'heartbeats',
      atNs: nowNs(),
      fact: silent ? `none for ${silenceMs} ms` : 'they go on',
      proves: `the event loop of worker ${worker.id} is blocked`,
      holds: silent,
    },
    runningEvidence(worker, before, group, performance.now() - sinceMs, nowNs()),
  ];
  let ending: Promise<readonly Evidence[]> | undefined;
  const end = async (): Promise<readonly Evidence[]> => {
    const after = await groupOf(worker);
    const running = runningEvidence(worker, before, after, performance.now() - sinceMs, nowNs());
    const sent = silenceEvidence(context, bytesToServers(context) - bytes);
    const endingNs = process.hrtime.bigint();
    starver.end(file);
    return [running, sent, await beats.evidence('starvation', endingNs, nowNs)];
  };
  return { target: worker.id, evidence, end: () => (ending ??= end()) };
}

function groupOf({ group }: WorkerHandle): Promise<readonly ProcessFacts[]> {
  return openProcessReader().readGroup(group.pid);
}

/** Waits for a hole in the heartbeats and for processor time, or for the deadline. */
async function untilSilent(
  worker: WorkerHandle,
  before: readonly ProcessFacts[],
  withinMs: number,
): Promise<readonly [silent: boolean, group: readonly ProcessFacts[]]> {
  const toldNs = process.hrtime.bigint();
  const deadline = performance.now() + withinMs;
  for (;;) {
    const lastNs = worker.lastHeartbeat?.receivedAtNs ?? toldNs;
    const sinceNs = process.hrtime.bigint() - (lastNs > toldNs ? lastNs : toldNs);
    const silent = sinceNs > BigInt(silenceMs) * 1_000_000n;
    const group = await groupOf(worker);
    const busy = cpuMs(group) - cpuMs(before) >= leastCpuMs;
    if ((silent && busy) || performance.now() > deadline) return [silent, group];
    await delay(lookEveryMs);
  }
}

function cpuMs(group: readonly ProcessFacts[]): number {
  return group.reduce((sum, facts) => sum + facts.cpuMs, 0);
}

function bytesToServers({ proxies }: FaultContext): number {
  return proxies.service.reduce((sum, proxy) => sum + proxy.counters('to-server').bytesIn, 0);
}

/** Alive, not stopped, and at work: what tells it from a pause and from a crash. */
function runningEvidence(
  worker: WorkerHandle,
  before: readonly ProcessFacts[],
  after: readonly ProcessFacts[],
  elapsedMs: number,
  atNs: bigint,
): Evidence {
  const usedMs = cpuMs(after) - cpuMs(before);
  const states = after.map(({ state }) => state);
  const lives = states.length > 0 && !states.some((state) => 'TtZX'.includes(state));
  return {
    source: openProcessReader().source,
    atNs,
    fact: `state ${states.join(',') || 'gone'}, ${usedMs} ms of processor time in ${elapsedMs.toFixed(0)} ms`,
    proves: `worker ${worker.id} runs`,
    holds: lives && usedMs >= leastCpuMs,
  };
}

function silenceEvidence({ worker, renewEveryMs, nowNs }: FaultContext, bytes: number): Evidence {
  const due = renewEveryMs === undefined ? 'no renewal timer' : `one due every ${renewEveryMs} ms`;
  return {
    source: `proxies of ${worker.id}`,
    atNs: nowNs(),
    fact: `${bytes} bytes from it to the lock service; ${due}`,
    proves: `worker ${worker.id} renewed nothing`,
    holds: bytes === 0,
  };
}
