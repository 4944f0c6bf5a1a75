/**
 * Carries out the steps of a scenario, one after the other, each driven by what workers and server
 * say. A reply that differs from the expected one is noted and the script goes on; a step that could
 * not be carried out ends it, and the rest is not reached.
 */
import { FencepostError } from '../domain/errors.ts';
import type { FaultReport, StepReport } from '../domain/run-report.ts';
import type { Scenario, Step, StepExpectation } from '../domain/scenario.ts';
import { formatSpan, spanMs } from '../domain/span.ts';
import { stringToText } from '../domain/text.ts';
import type { ObservedState } from '../protocols/protocol.ts';
import type { Actor, Order, Sent } from './actor.ts';
import type { FaultLog } from './fault-log.ts';
import { expiryEvidence } from './faults/expiry.ts';
import type { LockWatch } from './lock-watch.ts';
import type { Recorder } from './recorder.ts';
import { findBegun } from './scenario-script.ts';
import { stepText } from './step-text.ts';
import type { WayCheck } from './way-check.ts';
import {
  businessActions,
  parkPoints,
  type OpMessage,
  type ResultMessage,
} from './worker-protocol.ts';

export interface ScriptWorld {
  readonly scenario: Scenario;
  readonly actors: ReadonlyMap<string, Actor>;
  readonly watch: LockWatch;
  readonly recorder: Recorder;
  readonly faults: FaultLog;
  readonly ways: Pick<WayCheck, 'beforeFault'>;
  /** Expiry granularity of the server, added to every lease. */
  readonly granularityMs: number;
  /** Aborted by Ctrl-C and by the limit of the run. */
  readonly signal: AbortSignal;
  readonly onStep: (report: StepReport) => void;
}

/** One operation that the script asked for, and its reply, if there was one. */
export interface Performed {
  readonly step: Step;
  readonly op: OpMessage;
  readonly result: ResultMessage;
}

export interface ScriptResult {
  readonly steps: readonly StepReport[];
  readonly performed: readonly Performed[];
  /** The granted lease with the server's granularity, in ms. */
  readonly leaseMs: number;
}

interface Outcome {
  readonly status: 'done' | 'mismatch' | 'failed';
  readonly note: string;
}

type WorkerStep = Exclude<Step, { kind: 'wait' | 'fault' | 'end-fault' | 'go' }>;
interface Parked {
  readonly sent: Sent;
  readonly step: WorkerStep;
}

/** Runs the whole script. @throws only for what is not the script's doing (Ctrl-C, our own bugs) */
export async function runScript(world: ScriptWorld): Promise<ScriptResult> {
  const script = new Script(world);
  const steps: StepReport[] = [];
  world.recorder.markBegin();
  let failed = false;
  for (const step of world.scenario.steps) {
    const report: StepReport = failed ? notReached(step) : await script.run(step);
    failed ||= report.status === 'failed';
    steps.push(report);
    world.onStep(report);
  }
  return { steps, performed: script.performed, leaseMs: script.leaseMs };
}

function notReached(step: Step): StepReport {
  const { id, line } = step;
  return { id, line, text: stepText(step), status: 'not-reached', atMs: undefined, note: '' };
}

class Script {
  readonly performed: Performed[] = [];
  leaseMs: number;
  readonly #world: ScriptWorld;
  readonly #parked = new Map<string, Parked>();

  constructor(world: ScriptWorld) {
    this.#world = world;
    this.leaseMs = world.scenario.lock.leaseMs + world.granularityMs;
  }

  async run(step: Step): Promise<StepReport> {
    const { recorder, signal } = this.#world;
    let outcome: Outcome;
    try {
      signal.throwIfAborted();
      outcome = await this.#perform(step);
    } catch (error) {
      outcome = { status: 'failed', note: this.#whyFailed(error) };
    }
    const { id, line } = step;
    return { id, line, text: stepText(step), atMs: recorder.reportMs(), ...outcome };
  }

  #whyFailed(error: unknown): string {
    const { signal, scenario } = this.#world;
    if (signal.aborted) {
      const limit = signal.reason instanceof Error && signal.reason.name === 'TimeoutError';
      return limit
        ? `the run took longer than its limit of ${scenario.limits.runMs} ms`
        : 'stopped';
    }
    if (error instanceof FencepostError) return error.message;
    throw error;
  }

  #perform(step: Step): Promise<Outcome> {
    switch (step.kind) {
      case 'wait':
        return this.#wait(step);
      case 'fault':
        return this.#beginFault(step);
      case 'end-fault':
        return this.#endFault(step);
      case 'go':
        return this.#go(step);
      case 'acquire':
      case 'renew':
      case 'confirm':
      case 'release':
      case 'business':
        return this.#operate(step);
    }
  }

  async #operate(step: WorkerStep): Promise<Outcome> {
    const actor = this.#actor(step.worker);
    const park = parkPoints.find((point) => point === step.park);
    await this.#lookAround(step.kind);
    const sent = actor.send(step.id, this.#order(step), park);
    if (park === undefined) return this.#finish(step, step.expect, actor, sent);
    const parked = await this.#orAbort(actor.parked(sent));
    if (parked === undefined) return this.#finish(step, step.expect, actor, sent);
    this.#parked.set(step.worker, { sent, step });
    return { status: 'done', note: '' };
  }

  #order(step: WorkerStep): Order {
    if (step.kind === 'acquire') {
      const waitMs = step.wait === undefined ? 0 : Math.round(spanMs(step.wait, this.leaseMs));
      return { action: 'acquire', waitMs };
    }
    if (step.kind !== 'business') return { action: step.kind };
    const business = businessActions.find((action) => action === step.action);
    if (business === undefined) {
      throw new FencepostError(`workers cannot "${step.action}"`, { code: 'unknown-action' });
    }
    // One effect is one operation, whoever tries it; plain writes are each their own.
    const shared = business === 'write' || business === 'checkpoint' ? step.id : step.subject;
    return {
      action: 'business',
      business,
      subject: step.subject,
      operationId: step.operation ?? `${business}:${shared}`,
      ...(step.value === undefined ? {} : { value: step.value }),
      ...(step.selfCheck === undefined ? {} : { selfCheck: step.selfCheck }),
    };
  }

  async #go(step: Step & { kind: 'go' }): Promise<Outcome> {
    const parked = this.#parked.get(step.worker);
    if (parked === undefined) return { status: 'failed', note: `${step.worker} is not parked` };
    this.#parked.delete(step.worker);
    const actor = this.#actor(step.worker);
    await this.#lookAround(parked.step.kind);
    actor.handle.go(parked.sent.id);
    return this.#finish(parked.step, step.expect ?? parked.step.expect, actor, parked.sent);
  }

  async #finish(
    step: WorkerStep,
    expect: StepExpectation | undefined,
    actor: Actor,
    sent: Sent,
  ): Promise<Outcome> {
    const result = await this.#orAbort(sent.result);
    this.performed.push({ step, op: sent.op, result });
    if (step.kind === 'acquire' && result.outcome === 'ok') {
      this.leaseMs = (result.grantedTtlMs ?? this.leaseMs) + this.#world.granularityMs;
    }
    await this.#lookAround(step.kind);
    if (result.code === 'worker-exited' || result.code === 'worker-protocol') {
      return { status: 'failed', note: `worker ${actor.id}: ${result.code}` };
    }
    const note = resultText(step, result);
    if (meets(result, expect ?? { outcome: 'ok' })) return { status: 'done', note };
    // Without the lock nothing that follows means what it says.
    const status = step.kind === 'acquire' && expect === undefined ? 'failed' : 'mismatch';
    return { status, note: `${note}; expected ${expectationText(expect)}` };
  }

  async #wait(step: Step & { kind: 'wait' }): Promise<Outcome> {
    const { watch, signal, faults, recorder } = this.#world;
    const holder = this.#holder(step);
    const withinMs = spanMs(step.within, this.leaseMs);
    const state = await watch.until((seen) => this.#isReached(step, seen), withinMs, signal);
    if (state === undefined) {
      return { status: 'failed', note: `not within ${formatSpan(step.within)}` };
    }
    if (step.cause === 'any' || holder === undefined) return { status: 'done', note: '' };
    const owner = holder.owner;
    const end = owner === undefined ? undefined : watch.endOf(owner);
    const hold = watch.holdOf(owner);
    const evidence = expiryEvidence(holder.id, hold, end, recorder.nowNs());
    const report = faults.observed(step.id, 'expiry', holder.id, evidence);
    return faultOutcome(report, end?.witness ?? '');
  }

  /** Whose hold is waited out: the named worker's, or of who was seen last. */
  #holder(step: Step & { kind: 'wait' }): Actor | undefined {
    if (step.worker !== undefined) return this.#actor(step.worker);
    const owner = this.#world.watch.lastHold?.owner;
    return [...this.#world.actors.values()].find((actor) => actor.owner === owner);
  }

  #isReached(step: Step & { kind: 'wait' }, state: ObservedState): boolean {
    if (step.until === 'absent') return state.kind === 'absent';
    const owner = this.#actor(step.worker ?? '').owner;
    const held = state.kind === 'held' && state.owner === owner;
    return step.until === 'held-by' ? held : !held;
  }

  async #beginFault(step: Step & { kind: 'fault' }): Promise<Outcome> {
    const { faults, scenario, ways } = this.#world;
    await ways.beforeFault();
    const lifetimeMs = Math.min(spanMs(step.lifetime, this.leaseMs), scenario.limits.faultMs);
    const report = await faults.begin(step, this.#actor(step.worker ?? ''), lifetimeMs);
    const wrong = report.evidence.find(({ holds }) => !holds);
    if (wrong !== undefined) return { status: 'failed', note: `not proven: ${wrong.fact}` };
    return { status: 'done', note: report.evidence.map(({ fact }) => fact).join(', ') };
  }

  async #endFault(step: Step & { kind: 'end-fault' }): Promise<Outcome> {
    const { faults } = this.#world;
    const begun = findBegun(faults.active, step);
    if (begun === undefined) return { status: 'failed', note: `${step.fault} is not on` };
    const report = await faults.end(begun.id);
    const lastedMs = (report.endedAtMs ?? 0) - report.beganAtMs;
    return faultOutcome(report, `after ${(lastedMs / 1000).toFixed(2)} s`);
  }

  /** The observer reads the record right before and after whatever could take it away. */
  async #lookAround(kind: WorkerStep['kind']): Promise<void> {
    if (kind !== 'business') await this.#world.watch.look(true);
  }

  #actor(id: string): Actor {
    const actor = this.#world.actors.get(id);
    if (actor !== undefined) return actor;
    throw new FencepostError(`there is no worker "${id}"`, { code: 'unknown-worker' });
  }

  #orAbort<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this.#world;
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        reject(new FencepostError('the run was stopped', { code: 'aborted' }));
      };
      signal.addEventListener('abort', abort, { once: true });
      promise.then(resolve, reject).finally(() => {
        signal.removeEventListener('abort', abort);
      });
    });
  }
}

function faultOutcome(report: FaultReport, note: string): Outcome {
  const wrong = report.evidence.find(({ holds }) => !holds);
  if (wrong === undefined) return { status: 'done', note };
  return { status: 'failed', note: `${report.fault} is not proven: ${wrong.fact}` };
}

function meets(result: ResultMessage, expect: StepExpectation): boolean {
  return (
    (expect.outcome === undefined || result.outcome === expect.outcome) &&
    (expect.code === undefined || result.code === expect.code) &&
    (expect.accepted === undefined || (result.accepted ?? false) === expect.accepted)
  );
}

function expectationText(expect: StepExpectation | undefined): string {
  const parts = Object.entries(expect ?? { outcome: 'ok' });
  return parts.map(([key, value]) => `${key} ${String(value)}`).join(', ');
}

function resultText(step: WorkerStep, result: ResultMessage): string {
  if (result.outcome === 'ok') return okText(step, result);
  const { outcome, code = '', fence, detail = '' } = result;
  const token = fence === undefined || step.kind !== 'business' ? '' : `, token ${fence}`;
  const word = outcome === 'unknown' ? `outcome unknown, ${code}` : code;
  return word + token + (detail === '' ? '' : ` (${stringToText(detail)})`);
}

function okText(step: WorkerStep, { fence, accepted, code }: ResultMessage): string {
  if (step.kind === 'acquire') return fence === undefined ? 'granted' : `fence ${fence}`;
  return accepted === true ? (code ?? 'accepted') : 'ok';
}
