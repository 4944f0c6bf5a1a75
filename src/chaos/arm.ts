/**
 * One execution of a scenario: as it is, or with one safety swapped out (a control). Phases only:
 * steady state, set-up, script, quiescence, observations, undo, judgement.
 */
import { hostname } from 'node:os';
import { judge } from '../checks/judge.ts';
import { FencepostError, Interrupted } from '../domain/errors.ts';
import type { History } from '../domain/event.ts';
import type { OwnerToken } from '../domain/holder.ts';
import type { ArmReport } from '../domain/run-report.ts';
import type { LedgerRow } from '../resources/resource.ts';
import type { ArmContext, ArmRequest } from './arm-request.ts';
import { missingEvidence } from './evidence.ts';
import { eventText } from './event-text.ts';
import { withGranularity } from './granularity.ts';
import type { FaultLog } from './fault-log.ts';
import { LagMeter, type SilentTime } from './lag-meter.ts';
import type { Recorder } from './recorder.ts';
import { runScript, type ScriptResult } from './script.ts';
import { setUpStage, type Stage } from './stage.ts';
import { timelineOf } from './timeline.ts';
import { heartbeatEveryMs } from './timing.ts';
import { Undoing } from './undoing.ts';
import { invariantReports } from './verdicts.ts';

export interface ArmResult {
  readonly report: ArmReport;
  readonly history: History;
  /** What could not be undone. */
  readonly undoFailures: readonly string[];
}

/**
 * Runs one arm and undoes everything it did, whatever happens.
 * @throws {TargetError} the service or resource could not be reached at the start
 * @throws {Interrupted} after undoing, when the signal was aborted
 */
export async function runArm(request: ArmRequest, context: ArmContext): Promise<ArmResult> {
  const undoing = new Undoing(context.journal);
  let observed: Observed | undefined;
  let undoFailures: readonly string[] = [];
  try {
    observed = await observe(request, context, undoing);
  } finally {
    undoFailures = await undoing.run();
  }
  if (context.signal.aborted) {
    throw new Interrupted('interrupted', { code: 'interrupted', definite: true });
  }
  return { ...conclude(request, observed), undoFailures };
}

/** Everything that was seen, before it is judged. */
interface Observed {
  readonly recorder: Recorder;
  readonly script: ScriptResult;
  readonly faults: FaultLog;
  readonly ledger: readonly LedgerRow[] | undefined;
  readonly grantOwners: readonly OwnerToken[] | undefined;
  readonly expiredOwners: readonly OwnerToken[];
  readonly schedulerLagMs: number;
  readonly notes: readonly string[];
}

async function observe(
  request: ArmRequest,
  context: ArmContext,
  undoing: Undoing,
): Promise<Observed> {
  const stage = await setUpStage(request, context, undoing);
  await context.onReady();
  const lag = new LagMeter(stage.actors.values(), heartbeatEveryMs);
  const limit = AbortSignal.timeout(request.scenario.limits.runMs);
  const script = await runScript({
    scenario: request.scenario,
    actors: stage.actors,
    watch: stage.watch,
    recorder: stage.recorder,
    faults: stage.faults,
    ways: stage.ways,
    granularityMs: request.protocol.expiryGranularityMs,
    signal: AbortSignal.any([context.signal, limit]),
    onStep: context.onStep,
  });
  await stage.faults.endAll();
  await stage.ways.atEnd();
  const schedulerLagMs = lag.stop(silentTimes(stage));
  const notes = [
    ...stage.notes,
    ...workerNotes(stage),
    ...stage.ways.problems,
    ...stage.faults.failures,
  ];
  const { ledger, grantOwners } = await readWitnesses(stage, notes);
  const expiredOwners = (grantOwners ?? []).filter(
    (owner) => stage.watch.endOf(owner)?.cause === 'expired',
  );
  const { recorder, faults } = stage;
  return { recorder, script, faults, ledger, grantOwners, expiredOwners, schedulerLagMs, notes };
}

const settlingNs = 1_000_000_000n;

/** Around a fault its worker may be late for good reason. */
function silentTimes({ faults, recorder }: Stage): readonly SilentTime[] {
  return faults.reports().map(({ target, beganAtMs, endedAtMs }) => ({
    worker: target,
    fromNs: recorder.monotonicNs(beganAtMs) - settlingNs,
    toNs: recorder.monotonicNs(endedAtMs ?? beganAtMs) + settlingNs,
  }));
}

function workerNotes({ actors }: Stage): readonly string[] {
  return [...actors.values()].flatMap(({ id, handle, proxies }) => {
    const broken = handle.problems().map(({ message }) => message);
    const used = proxies.service.some((proxy) => proxy.counters('to-server').bytesIn > 0);
    return !used ? [...broken, `worker ${id} went round its proxies`] : broken;
  });
}

/** Workers are ended first: what is still on its way must have arrived, or never will. */
async function readWitnesses(
  stage: Stage,
  notes: string[],
): Promise<Pick<Observed, 'ledger' | 'grantOwners'>> {
  await stage.endWorkers();
  let grantOwners: readonly OwnerToken[] | undefined;
  let ledger: readonly LedgerRow[] | undefined;
  try {
    await stage.watch.settle();
    grantOwners = stage.watch.grants.map(({ owner }) => owner);
  } catch (error) {
    notes.push(`the lock service could not be read at the end: ${messageOf(error)}`);
  }
  if (stage.watch.failure !== undefined) {
    notes.push(`the observer lost sight of the lock: ${messageOf(stage.watch.failure)}`);
  }
  try {
    ledger = await stage.recordLedger();
  } catch (error) {
    notes.push(`the resource could not be read at the end: ${messageOf(error)}`);
  }
  return { ledger, grantOwners };
}

function messageOf(error: unknown): string {
  if (error instanceof FencepostError) return error.message;
  throw error;
}

function conclude(
  request: ArmRequest,
  observed: Observed,
): { readonly report: ArmReport; readonly history: History } {
  const { scenario, arm, folderName, protocol } = request;
  const { recorder, script, schedulerLagMs } = observed;
  const history = recorder.history();
  const faults = observed.faults.reports();
  const specs = [...scenario.invariants, ...scenario.reportOnly];
  const results = judge(history, withGranularity(specs, protocol));
  const ops = new Map(script.performed.map(({ op, step }) => [op.id, step.id]));
  const describe = (seq: number): string => {
    const event = history.events[seq];
    return event === undefined
      ? `event ${seq}`
      : eventText(
          event,
          recorder.reportMs(event.atNs),
          (op) => ops.get(op)?.replace(/^[^-]*-/, '') ?? op,
        );
  };
  const problems = missingEvidence({
    scenario,
    steps: script.steps,
    faults,
    performed: script.performed,
    ledger: observed.ledger,
    grantOwners: observed.grantOwners,
    expiredOwners: observed.expiredOwners,
    schedulerLagMs,
    leaseMs: script.leaseMs,
    machine: hostname(),
    notes: observed.notes,
  });
  const report = {
    arm,
    folder: folderName,
    tookMs: recorder.reportMs(),
    steps: script.steps,
    faults,
    invariants: invariantReports(scenario, results, describe),
    timeline: timelineOf(script.steps, faults),
    problems,
    schedulerLagMs,
    shortfalls: shortfallsIn(history, protocol.shortfallCodes),
  };
  return { report, history };
}

/** Counted in the history: renewals by a worker's own timer are no steps. */
function shortfallsIn(
  { events }: History,
  codes: readonly string[] | undefined,
): number | undefined {
  if (codes === undefined) return undefined;
  return events.filter((event) => event.kind === 'complete' && codes.includes(event.code ?? ''))
    .length;
}
