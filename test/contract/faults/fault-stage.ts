/** What the fault contract acts on: one worker behind its proxies, an observer, a real journal. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Actor } from '../../../src/chaos/actor.ts';
import { FaultLog } from '../../../src/chaos/fault-log.ts';
import type { ActiveFault, Fault, FaultContext } from '../../../src/chaos/faults/fault.ts';
import { Recorder } from '../../../src/chaos/recorder.ts';
import { UndoJournal } from '../../../src/chaos/undo-journal.ts';
import { createWorkerPool } from '../../../src/chaos/worker-pool.ts';
import { startWorkerProxies } from '../../../src/chaos/worker-proxies.ts';
import type { Evidence } from '../../../src/domain/evidence.ts';
import type { Step } from '../../../src/domain/scenario.ts';
import { parseTarget } from '../../../src/domain/target.ts';
import type { LockProtocol } from '../../../src/protocols/protocol.ts';

export interface FaultStage {
  readonly actor: Actor;
  readonly context: FaultContext;
  readonly journal: UndoJournal;
  /** A log in which `fault` is the only one, under its name. */
  log(fault: Fault): FaultLog;
  step(fault: Fault): Step & { kind: 'fault' };
  close(): Promise<void>;
}

const requestTimeoutMs = 800;
const lifetimeMs = 20_000;

export async function openFaultStage(
  protocol: LockProtocol,
  targetUrl: string,
  options: FaultContext['options'],
): Promise<FaultStage> {
  const folder = mkdtempSync(join(tmpdir(), 'fencepost-faults-'));
  const target = parseTarget(targetUrl);
  const prefix = `fencepost-run-${randomBytes(5).toString('hex')}`;
  const lock = `${prefix}/o-42`;
  const originNs = process.hrtime.bigint();
  const observer = await protocol.observe({ target, requestTimeoutMs: 2000, clientName: 'obs' });
  const nowhere = { host: '127.0.0.1', port: 9 };
  const proxies = await startWorkerProxies('A', target, protocol, nowhere, originNs);
  const pool = createWorkerPool();
  const clientName = `${prefix}-A`;
  const leaseMs = 2000;
  const renewEveryMs = 300;
  const init = {
    type: 'init',
    version: 1,
    workerId: 'A',
    protocol: protocol.id,
    service: proxies.serviceUrl,
    clientName,
    resource: proxies.resource.endpoint,
    mutation: null,
    lock,
    leaseMs,
    renewEveryMs,
    requestTimeoutMs,
    heartbeatEveryMs: 50,
    seed: 's',
  } as const;
  const handle = await pool.start(init, {}, 10_000);
  const head = {
    runId: 'r',
    scenario: 's',
    tool: 't',
    seed: 's',
    clock: 'host-monotonic',
  } as const;
  const recorder = new Recorder({ ...head, accept: 'greater-or-equal', invariants: [] }, originNs);
  const journal = await UndoJournal.open({ XDG_STATE_HOME: folder }, 'run', folder);
  const actor = new Actor({
    handle,
    proxies,
    clientName,
    recorder,
    lock,
    leaseMs,
    resource: 'orders',
  });
  const scene = {
    protocol,
    target,
    prefix,
    lock,
    observer,
    folder,
    renewEveryMs,
    servers: undefined,
    lookAway: <T>(work: () => Promise<T>) => work(),
  };
  const { signal } = new AbortController();
  return {
    actor,
    journal,
    context: {
      ...scene,
      id: 'A-fault',
      worker: handle,
      get owner() {
        return actor.owner;
      },
      proxies,
      options,
      lifetimeMs,
      nowNs: () => recorder.nowNs(),
      willDo: () => Promise.resolve(),
      signal,
    },
    log: (fault) => new FaultLog({ recorder, journal, scene, signal, findFault: () => fault }),
    step: ({ name }) => ({
      kind: 'fault',
      id: `A-${name}`,
      line: 1,
      fault: name,
      worker: 'A',
      options,
      lifetime: { leaseFactor: 0, addMs: lifetimeMs },
    }),
    async close() {
      await pool.close();
      await proxies.close();
      await observer.cleanUp(prefix);
      await observer.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** What did not come out as it should. */
export function unproven(evidence: readonly Evidence[]): readonly string[] {
  return evidence.filter(({ holds }) => !holds).map(({ source, fact }) => `${source}: ${fact}`);
}

/** Begins and ends a fault, with something in between, and gives all its evidence. */
export async function played(
  fault: Fault,
  context: FaultContext,
  between: (active: ActiveFault) => Promise<void>,
): Promise<readonly Evidence[]> {
  const active = await fault.begin(context);
  await between(active);
  return [...active.evidence, ...(await active.end())];
}
