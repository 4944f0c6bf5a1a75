/** Sets up what an arm needs: observer, resource, workers behind their proxies; each with its undo. */
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { displayTarget, urlWithoutPassword } from '../domain/target.ts';
import { stringToText } from '../domain/text.ts';
import type { LockObserver } from '../protocols/protocol.ts';
import { openProcessReader } from '../processes/process-evidence.ts';
import { startResourceServer } from '../resources/resource-server.ts';
import { withoutPassword } from '../resources/resource-url.ts';
import type { LedgerRow, ResourceServer } from '../resources/resource.ts';
import type { Actor } from './actor.ts';
import type { ArmContext, ArmRequest } from './arm-request.ts';
import { FaultLog } from './fault-log.ts';
import { LockWatch } from './lock-watch.ts';
import { withGranularity } from './granularity.ts';
import { Recorder } from './recorder.ts';
import { resourceMutation } from './scenario-schema.ts';
import type { Undoing } from './undoing.ts';
import { requestTimeoutMs } from './timing.ts';
import { WayCheck } from './way-check.ts';
import { createWorkerPool } from './worker-pool.ts';
import { askWorker, checkClocks, startActor } from './start-workers.ts';

export interface Stage {
  readonly recorder: Recorder;
  readonly actors: ReadonlyMap<string, Actor>;
  readonly watch: LockWatch;
  readonly faults: FaultLog;
  /** Whether workers go through their proxies, as the servers see it. */
  readonly ways: WayCheck;
  /** What went wrong in the set-up without stopping it. */
  readonly notes: readonly string[];
  endWorkers(): Promise<void>;
  /** Reads every attempt that reached the resource into the history. */
  recordLedger(): Promise<readonly LedgerRow[]>;
}

const watchEvery = { share: 80, leastMs: 10, mostMs: 100 } as const;

/**
 * @throws {TargetError} when service or resource cannot be reached, or a worker does not start
 * @throws {UsageError} before anything is touched: the user's worker cannot do what a step needs
 */
export async function setUpStage(
  request: ArmRequest,
  context: ArmContext,
  undoing: Undoing,
): Promise<Stage> {
  const { scenario, protocol } = request;
  // Random: runs never share a key, also with what an earlier one left.
  const prefix = `fencepost-run-${randomBytes(5).toString('hex')}`;
  const lock = `${prefix}/${scenario.lock.name}`;
  const servers = await protocol.servers?.({
    target: request.target,
    requestTimeoutMs,
    clientName: `${prefix}-probe`,
  });
  const arm = { request, context, undoing, lock, prefix, servers: servers ?? [] };
  await askWorker(arm);
  const observer = await openObserver(request, prefix, undoing);
  const notes = await steadyState(request, observer, `${prefix}/steady-state`);
  const resource = await openResource(request, undoing);
  const originNs = process.hrtime.bigint();
  const recorder = new Recorder(headerOf(request), originNs);
  const watch = new LockWatch({
    observer,
    lock,
    witness: protocol.fenceSource ?? `${protocol.family} record`,
    recorder,
    everyMs: watchInterval(scenario.lock.leaseMs),
  });
  const pool = createWorkerPool();
  undoing.push('worker pool', () => pool.close());
  const world = { ...arm, pool, resource, recorder, originNs };
  const started = await Promise.all(scenario.workers.map((id) => startActor(id, world)));
  const actors = new Map(started.map((actor) => [actor.id, actor]));
  const clocks = await checkClocks(started);
  watch.start();
  undoing.push('observer loop', () => watch.stop());
  const { journal, findFault, signal } = context;
  const scene = {
    protocol,
    target: request.target,
    prefix,
    lock,
    observer,
    folder: resolve(request.folder),
    renewEveryMs: scenario.lock.renewEveryMs,
    servers: request.servers,
    lookAway: <T>(work: () => Promise<T>) => watch.lookAway(work),
  };
  return {
    recorder,
    actors,
    watch,
    ways: new WayCheck({ observer, actors: started, ownProgram: scenario.worker !== undefined }),
    faults: new FaultLog({ recorder, journal, findFault, scene, signal }),
    notes: [...notes, ...clocks],
    endWorkers: () => pool.close(),
    recordLedger: () => recordLedger(resource, recorder, lock, scenario.resource.kind),
  };
}

function headerOf(request: ArmRequest): ConstructorParameters<typeof Recorder>[0] {
  const { scenario, runId, tool, seed, mutation, protocol } = request;
  return {
    runId,
    scenario: scenario.name,
    tool,
    seed,
    clock: 'host-monotonic',
    accept: mutation === resourceMutation ? 'any' : scenario.resource.accept,
    invariants: withGranularity(scenario.invariants, protocol),
  };
}

function watchInterval(leaseMs: number): number {
  const { share, leastMs, mostMs } = watchEvery;
  return Math.min(mostMs, Math.max(leastMs, Math.round(leaseMs / share)));
}

async function openObserver(
  request: ArmRequest,
  prefix: string,
  undoing: Undoing,
): Promise<LockObserver> {
  const { protocol, target, throwaway } = request;
  const clientName = 'fencepost-observer';
  const observer = await protocol.observe({ target, requestTimeoutMs, clientName });
  undoing.push('observer', () => observer.close());
  undoing.announce(
    `keys under ${prefix} on ${displayTarget(target)}`,
    {
      type: 'remove-keys',
      protocol: protocol.id,
      target: urlWithoutPassword(target),
      prefix,
      throwaway,
    },
    () => observer.cleanUp(prefix),
  );
  return observer;
}

/** The target must work before we blame anything on a fault: one grant, seen and given back. */
async function steadyState(
  request: ArmRequest,
  observer: LockObserver,
  lock: string,
): Promise<string[]> {
  const { protocol, target, scenario } = request;
  const context = { target, requestTimeoutMs, clientName: 'fencepost-probe', mutation: undefined };
  const client = await protocol.connect(context);
  try {
    const owner = stringToText(`probe.${randomBytes(6).toString('hex')}`);
    const { leaseMs } = scenario.lock;
    const taken = await client.acquire({ lock, owner, leaseMs, waitMs: 0 });
    if (taken.outcome !== 'ok') return [`no steady state: acquire ended ${taken.code}`];
    const held = await observer.state(lock);
    const released = await client.release(lock, taken.grant);
    const after = await observer.state(lock);
    if (held.kind !== 'held' || held.owner !== owner) {
      return ['no steady state: the observer did not see a lock that was granted'];
    }
    if (released.outcome !== 'ok') return [`no steady state: release ended ${released.code}`];
    return after.kind === 'absent' ? [] : ['no steady state: a lock that was released stayed'];
  } finally {
    await client.close();
  }
}

async function openResource(request: ArmRequest, undoing: Undoing): Promise<ResourceServer> {
  const { resourceUrl, folder, mutation, scenario } = request;
  const run = `r${randomBytes(6).toString('hex')}`;
  const started: { server?: ResourceServer } = {};
  const stop = async (): Promise<void> => {
    await started.server?.stop();
  };
  if (resourceUrl !== undefined) {
    const url = withoutPassword(resourceUrl);
    undoing.announce(`schema fencepost_${run} on ${url}`, { type: 'drop-schema', url, run }, stop);
  }
  const reader = openProcessReader();
  const server = await startResourceServer({
    accept: mutation === resourceMutation ? 'any' : scenario.resource.accept,
    url: resourceUrl,
    folder,
    run,
    onSpawn: async (pid) => {
      const facts = await reader.read(pid);
      if (facts === undefined) return;
      const group = { pid, startTime: facts.startTime };
      undoing.announce(`resource (pid ${pid})`, { type: 'end-resource', group }, stop);
    },
  });
  started.server = server;
  return server;
}

async function recordLedger(
  server: ResourceServer,
  recorder: Recorder,
  lock: string,
  resource: string,
): Promise<readonly LedgerRow[]> {
  const about = {
    kind: 'observation',
    process: 'observer',
    source: 'resource',
    lock,
    resource,
    witness: 'ledger',
  } as const;
  const rows = await server.ledger();
  for (const row of rows) {
    recorder.record({
      ...about,
      fact: 'effect-row',
      owner: row.owner,
      ...(row.fence === undefined ? {} : { fence: row.fence }),
      order: row.seq,
      business: row.action,
      subject: row.subject,
      effectId: row.operationId,
      accepted: row.accepted && !row.replayed,
    });
  }
  recorder.record({ ...about, fact: 'read-to-end' });
  return rows;
}
