/**
 * What a run will do, decided before anything is touched: protocol per column, spans in words, the
 * undo of each fault, how each control is made. Pure: equal input gives an equal plan and hash.
 */
import { createHash } from 'node:crypto';
import type { ControlSpec, Scenario, Step } from '../domain/scenario.ts';
import { formatSpan, spanMs } from '../domain/span.ts';
import type { BackendKind } from '../domain/target.ts';
import { mutationRoles, type LockProtocol } from '../protocols/protocol.ts';
import type { Fault } from './faults/fault.ts';
import { invariantId } from './scenario-invariants.ts';
import { resourceMutation } from './scenario-schema.ts';
import { stepText } from './step-text.ts';

/** One column of the matrix: a kind of target, and what `protocol` means there. */
export interface Column {
  readonly name: string;
  readonly kind: BackendKind;
  /** `fenced`, `unfenced` or an id; undefined takes the scenario's word. */
  readonly protocol: string | undefined;
}

export interface PlannedStep {
  readonly id: string;
  readonly line: number;
  readonly text: string;
  /** `within 2x lease = 4.00 s`, for the lease that was asked for. */
  readonly span: string | undefined;
  readonly undo: string | undefined;
}

export interface PlannedControl {
  readonly mutate: string;
  readonly how: 'resource' | 'protocol' | 'prevented';
  /** Why it cannot go wrong here, for `prevented`. */
  readonly reason: string | undefined;
}

export interface CellPlan {
  readonly scenario: string;
  readonly title: string;
  readonly column: string;
  readonly protocol: string;
  readonly protocolTitle: string;
  readonly accept: string;
  readonly leaseMs: number;
  readonly granularityMs: number;
  readonly workers: readonly string[];
  /** The user's own worker program, as the scenario says it. */
  readonly workerCommand?: readonly string[];
  readonly steps: readonly PlannedStep[];
  readonly invariants: readonly string[];
  readonly controls: readonly PlannedControl[];
}

export interface RunPlan {
  readonly schemaVersion: 1;
  readonly seed: string;
  /** SHA-256 over everything else in the plan. */
  readonly hash: string;
  readonly repeat: number;
  /** Each round draws from a seed of its own. */
  readonly varySeed?: boolean;
  readonly cells: readonly CellPlan[];
}

/** Plans one scenario on one column. */
export function planCell(
  scenario: Scenario,
  column: Column,
  protocol: LockProtocol,
  findFault: (name: string) => Fault | undefined,
): CellPlan {
  const leaseMs = scenario.lock.leaseMs + protocol.expiryGranularityMs;
  return {
    scenario: scenario.name,
    title: scenario.title,
    column: column.name,
    protocol: protocol.id,
    protocolTitle: protocol.title,
    accept: scenario.resource.accept,
    leaseMs: scenario.lock.leaseMs,
    granularityMs: protocol.expiryGranularityMs,
    workers: scenario.workers,
    ...(scenario.worker === undefined ? {} : { workerCommand: scenario.worker.command }),
    steps: scenario.steps.map((step) => planStep(step, leaseMs, findFault)),
    invariants: [...scenario.invariants, ...scenario.reportOnly].map((spec) => {
      const bound = spec.within === undefined ? '' : ` within ${formatSpan(spec.within)}`;
      return invariantId(spec) + bound;
    }),
    controls: scenario.controls.map((control) => planControl(control, protocol)),
  };
}

function planStep(
  step: Step,
  leaseMs: number,
  findFault: (name: string) => Fault | undefined,
): PlannedStep {
  const { id, line } = step;
  const undo = step.kind === 'fault' ? findFault(step.fault)?.undo : undefined;
  return { id, line, text: stepText(step), span: spanText(step, leaseMs), undo };
}

function spanText(step: Step, leaseMs: number): string | undefined {
  if (step.kind === 'wait') return `within ${resolved(step.within, leaseMs)}`;
  if (step.kind === 'fault') return `at most ${resolved(step.lifetime, leaseMs)}`;
  if (step.kind !== 'acquire' || step.wait === undefined) return undefined;
  return `waits up to ${resolved(step.wait, leaseMs)}`;
}

function resolved(span: Parameters<typeof formatSpan>[0], leaseMs: number): string {
  return `${formatSpan(span)} = ${(spanMs(span, leaseMs) / 1000).toFixed(2)} s`;
}

/** How a control's mutation is made on this protocol. */
export function planControl({ mutate }: ControlSpec, protocol: LockProtocol): PlannedControl {
  if (mutate === resourceMutation) return { mutate, how: 'resource', reason: undefined };
  const role = mutationRoles.find((known) => known === mutate);
  const mutation = role === undefined ? undefined : protocol.mutations[role];
  if (mutation === 'variant') return { mutate, how: 'protocol', reason: undefined };
  return { mutate, how: 'prevented', reason: mutation?.prevented ?? 'no such variant' };
}

/** Joins the cells to the plan of a run. */
export function planRun(
  { seed, repeat, varySeed }: Pick<RunPlan, 'seed' | 'repeat' | 'varySeed'>,
  cells: readonly CellPlan[],
): RunPlan {
  const what = { seed, repeat, ...(varySeed === true ? { varySeed } : {}), cells };
  const hash = createHash('sha256').update(JSON.stringify(what)).digest('hex');
  return { schemaVersion: 1, hash, ...what };
}

/** The seed of one round: that of the run, or its own, by which a single run plays it again. */
export function seedOfRound(
  { seed, varySeed }: Pick<RunPlan, 'seed' | 'varySeed'>,
  round: number,
): string {
  return varySeed === true && round > 1 ? `${seed}/${round}` : seed;
}
