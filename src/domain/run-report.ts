/**
 * The result of `fencepost run`: what reports render and what `run.json` keeps. Plain JSON data:
 * times in milliseconds since the arm began, 64-bit numbers as decimal strings.
 */
import type { Verdict } from './verdict.ts';

/**
 * - `passed`: every invariant as expected, every fault proven, every control red
 * - `failed`: an invariant came out against its expectation, and that is proven
 * - `inconclusive`: a fault is not proven, something was not exercised, evidence is missing
 */
export type RunOutcome = 'passed' | 'failed' | 'inconclusive' | 'interrupted' | 'unreachable';

export interface EvidenceReport {
  readonly source: string;
  readonly atMs?: number | undefined;
  readonly fact: string;
  readonly proves: string;
  readonly holds: boolean;
}

export interface StepReport {
  readonly id: string;
  readonly line: number;
  /** As a person would say it: `A closes o-42`. */
  readonly text: string;
  /** `mismatch`: the reply was not the expected one. `failed`: it could not be carried out. */
  readonly status: 'done' | 'mismatch' | 'failed' | 'not-reached';
  readonly atMs?: number | undefined;
  readonly note: string;
}

export interface FaultReport {
  readonly id: string;
  readonly fault: string;
  readonly target: string;
  readonly beganAtMs: number;
  readonly endedAtMs?: number | undefined;
  /** Begun and ended, and all its evidence holds. */
  readonly proven: boolean;
  readonly evidence: readonly EvidenceReport[];
}

export interface InvariantReport {
  /** `mutual-exclusion:service`, or the bare name. */
  readonly invariant: string;
  /** Its bound in words: `lease + 2s`; undefined where it has none. */
  readonly bound?: string | undefined;
  readonly verdict: Verdict;
  readonly expected: Verdict;
  /** Why something else than \`held\` is expected, as the scenario says. */
  readonly because?: string | undefined;
  readonly reportOnly: boolean;
  readonly exercised: number;
  readonly note: string;
  /** Fewest events that show the violation, by seq in history.jsonl, and as lines for people. */
  readonly witness: readonly number[];
  readonly witnessLines: readonly string[];
}

export interface TimelineEntry {
  readonly atMs: number;
  readonly text: string;
  readonly result: string;
  readonly tone: 'plain' | 'fault' | 'refused' | 'bad';
}

/** One execution of the script: the scenario as it is, or one of its controls. */
export interface ArmReport {
  /** `main`, or the control's mutation. */
  readonly arm: string;
  /** Folder of its files, relative to the run's. */
  readonly folder: string;
  readonly tookMs: number;
  readonly steps: readonly StepReport[];
  readonly faults: readonly FaultReport[];
  readonly invariants: readonly InvariantReport[];
  readonly timeline: readonly TimelineEntry[];
  /** Why this arm proves less than it should; empty for a pass. */
  readonly problems: readonly string[];
  readonly schedulerLagMs: number;
  /** Operations that too few replicas confirmed in time; undefined where none need confirm. */
  readonly shortfalls?: number | undefined;
}

export interface ControlReport {
  readonly mutate: string;
  readonly result: 'went-red' | 'stayed-green' | 'prevented' | 'not-run' | 'inconclusive';
  readonly note: string;
  readonly arm?: ArmReport | undefined;
}

/** One scenario on one column of the matrix. */
export interface CellReport {
  readonly scenario: string;
  readonly title: string;
  /** Column: `redis`, `etcd`, … or a protocol id. */
  readonly column: string;
  readonly protocol: string;
  /** Without password. */
  readonly target: string;
  /** From 1; above 1 with `--repeat`. */
  readonly round: number;
  /** Where rounds vary it: a run with this seed plays this round again. */
  readonly seed?: string | undefined;
  readonly outcome: RunOutcome;
  readonly problems: readonly string[];
  readonly main?: ArmReport | undefined;
  readonly controls: readonly ControlReport[];
}

export interface RunReport {
  readonly schemaVersion: 1;
  readonly runId: string;
  readonly tool: string;
  /** ISO time by this machine's clock. */
  readonly startedAt: string;
  readonly tookMs: number;
  readonly seed: string;
  /** SHA-256 of the plan; equal for an equal scenario, seed and set of columns. */
  readonly planHash: string;
  readonly outcome: RunOutcome;
  readonly exitCode: number;
  readonly undoFailed: boolean;
  readonly cells: readonly CellReport[];
}
