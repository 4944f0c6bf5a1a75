/** Starts the workers of an arm, each behind proxies of its own, and checks their clocks. */
import { FencepostError } from '../domain/errors.ts';
import type { NatEntry } from '../domain/target.ts';
import type { ResourceServer } from '../resources/resource.ts';
import { Actor } from './actor.ts';
import type { ArmContext, ArmRequest } from './arm-request.ts';
import type { Recorder } from './recorder.ts';
import { resourceMutation } from './scenario-schema.ts';
import { heartbeatEveryMs, requestTimeoutMs } from './timing.ts';
import type { Undoing } from './undoing.ts';
import { requireHonoured } from './worker-demands.ts';
import { createWorkerPool } from './worker-pool.ts';
import { workerProtocolVersion, type InitMessage } from './worker-protocol.ts';
import { startWorkerProxies, type WorkerProxies } from './worker-proxies.ts';
import type { WorkerCommand, WorkerPool } from './worker.ts';

const readyTimeoutMs = 15_000;
const pingTimeoutMs = 5000;

/** The resource is not there yet: a worker that connects to it early finds its proxy. */
const noResource = { host: '127.0.0.1', port: 9 };

/** What the workers of one arm share. */
export interface WorkersOfArm {
  readonly request: ArmRequest;
  readonly context: ArmContext;
  readonly undoing: Undoing;
  readonly lock: string;
  /** No other arm and no other run has it. */
  readonly prefix: string;
  /** Servers to which those of the target send a client. */
  readonly servers: readonly NatEntry[];
}

/** Starts a user's own worker once to learn what it honours, and ends it. */
export async function askWorker(arm: WorkersOfArm): Promise<void> {
  const { request, context, undoing, servers } = arm;
  const { scenario, protocol, target } = request;
  if (scenario.worker === undefined) return;
  const id = scenario.workers[0] ?? 'worker';
  const origin = process.hrtime.bigint();
  const proxies = await startWorkerProxies(id, target, protocol, noResource, origin, servers);
  undoing.push('proxies of the asked worker', () => proxies.close());
  const pool = createWorkerPool();
  const init = initMessage(id, arm, proxies);
  const { ready } = await pool.start(init, commandOf(scenario), readyTimeoutMs, (group) => {
    undoing.announce(`asked worker (pid ${group.pid})`, { type: 'kill-group', group }, () =>
      pool.close(),
    );
    context.adopt(group);
  });
  await pool.close();
  requireHonoured(scenario, protocol, ready.honours, request.controls);
}

function commandOf({ worker }: ArmRequest['scenario']): WorkerCommand {
  return worker === undefined ? {} : { argv: worker.command, folder: worker.folder };
}

interface World extends WorkersOfArm {
  readonly pool: WorkerPool;
  readonly resource: ResourceServer;
  readonly recorder: Recorder;
  readonly originNs: bigint;
}

/** @throws {TargetError} when the worker does not come up */
export async function startActor(id: string, world: World): Promise<Actor> {
  const { request, context, undoing, pool, resource, recorder, lock, originNs, servers } = world;
  const { scenario, protocol, target } = request;
  const { endpoint } = resource;
  const proxies = await startWorkerProxies(id, target, protocol, endpoint, originNs, servers);
  undoing.push(`proxies of ${id}`, () => proxies.close());
  const init = initMessage(id, world, proxies);
  const handle = await pool.start(init, commandOf(scenario), readyTimeoutMs, (group) => {
    undoing.announce(`worker ${id} (pid ${group.pid})`, { type: 'kill-group', group }, () =>
      pool.close(),
    );
    context.adopt(group);
  });
  const { clientName } = init;
  const { leaseMs } = scenario.lock;
  const { kind } = scenario.resource;
  return new Actor({ handle, proxies, clientName, recorder, lock, leaseMs, resource: kind });
}

function initMessage(
  workerId: string,
  { request, lock, prefix }: WorkersOfArm,
  proxies: WorkerProxies,
): InitMessage {
  const { protocol, mutation, scenario, seed } = request;
  return {
    type: 'init',
    version: workerProtocolVersion,
    workerId,
    protocol: protocol.id,
    service: proxies.serviceUrl,
    clientName: `${prefix}-${workerId}`,
    resource: proxies.resource.endpoint,
    mutation: mutation === undefined || mutation === resourceMutation ? null : mutation,
    lock,
    leaseMs: scenario.lock.leaseMs,
    renewEveryMs: scenario.lock.renewEveryMs ?? null,
    requestTimeoutMs,
    heartbeatEveryMs,
    seed,
  };
}

/** Without a shared clock no times of that worker may be compared. */
export async function checkClocks(actors: readonly Actor[]): Promise<readonly string[]> {
  const checks = await Promise.all(
    actors.map(async ({ id, handle }) => {
      try {
        const { shared } = await handle.checkClock(pingTimeoutMs);
        return shared ? [] : [`worker ${id} does not read this machine's monotonic clock`];
      } catch (error) {
        if (error instanceof FencepostError) return [error.message];
        throw error;
      }
    }),
  );
  return checks.flat();
}
