/**
 * Reads a script as the workers would live it, before anything runs: no step for a worker that is
 * parked, paused or dead; nothing resumed that never stopped.
 */
import type { Step } from '../domain/scenario.ts';
import { findFault } from './faults/registry.ts';
import type { Problem } from '../files/yaml-source.ts';

interface Life {
  /** Step that parked it. */
  parkedBy: string | undefined;
  /** Step and name of the fault that silences it. */
  silencedBy:
    { readonly id: string; readonly fault: string; readonly forGood: boolean } | undefined;
}

/** Adds what cannot work to `problems`. `steps` must be complete: index is position in the file. */
export function checkScript(steps: readonly Step[], problems: Problem[]): void {
  const lives = new Map<string, Life>();
  const active = new Map<string, Step & { kind: 'fault' }>();
  for (const [index, step] of steps.entries()) {
    const complain = (message: string, hint?: string): void => {
      problems.push({ path: ['steps', index], message, ...(hint === undefined ? {} : { hint }) });
    };
    if (step.kind === 'wait') continue;
    if (step.kind === 'end-fault') endFault(step, active, lives, complain);
    else if (step.kind === 'fault') beginFault(step, active, lives, complain);
    else workerStep(step, lifeOf(lives, step.worker), complain);
  }
}

type Complain = (message: string, hint?: string) => void;

function lifeOf(lives: Map<string, Life>, worker: string): Life {
  const life = lives.get(worker) ?? { parkedBy: undefined, silencedBy: undefined };
  lives.set(worker, life);
  return life;
}

function workerStep(
  step: Exclude<Step, { kind: 'wait' | 'fault' | 'end-fault' }>,
  life: Life,
  complain: Complain,
): void {
  const { worker } = step;
  if (life.silencedBy !== undefined) {
    const { id, fault, forGood } = life.silencedBy;
    const hint = forGood
      ? 'use another worker'
      : `end it first: - ${fault === 'pause' ? `resume: ${worker}` : `end: ${id}`}`;
    complain(`${worker} is under "${fault}" since step ${id}`, hint);
  }
  if (step.kind === 'go') {
    if (life.parkedBy === undefined) complain(`${worker} is not parked`);
    life.parkedBy = undefined;
    return;
  }
  if (life.parkedBy !== undefined) {
    complain(`${worker} is parked by step ${life.parkedBy}`, `let it go on: - ${worker}: go`);
  }
  if ('park' in step) life.parkedBy = step.id;
}

function beginFault(
  step: Step & { kind: 'fault' },
  active: Map<string, Step & { kind: 'fault' }>,
  lives: Map<string, Life>,
  complain: Complain,
): void {
  const fault = findFault(step.fault);
  if (fault?.kind === 'lasting') active.set(step.id, step);
  if (fault?.silences !== true || step.worker === undefined) return;
  const life = lifeOf(lives, step.worker);
  if (life.silencedBy !== undefined) {
    complain(`${step.worker} is under "${life.silencedBy.fault}" already`);
  }
  life.silencedBy = { id: step.id, fault: step.fault, forGood: fault.kind === 'instant' };
}

function endFault(
  step: Step & { kind: 'end-fault' },
  active: Map<string, Step & { kind: 'fault' }>,
  lives: Map<string, Life>,
  complain: Complain,
): void {
  const began = findBegun(active, step);
  if (began === undefined) {
    complain(
      step.worker === undefined
        ? `no fault was begun by a step "${step.fault}"`
        : `${step.worker} is not paused`,
    );
    return;
  }
  active.delete(began.id);
  if (began.worker === undefined) return;
  const life = lifeOf(lives, began.worker);
  if (life.silencedBy?.id === began.id) life.silencedBy = undefined;
}

/** The fault that `step` ends: by the id of its step, or the pause of its worker. */
export function findBegun<T extends Step & { kind: 'fault' }>(
  active: ReadonlyMap<string, T>,
  step: Step & { kind: 'end-fault' },
): T | undefined {
  if (step.worker === undefined) return active.get(step.fault);
  return [...active.values()].find(
    ({ fault, worker }) => fault === step.fault && worker === step.worker,
  );
}
