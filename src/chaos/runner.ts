/**
 * Runs scenarios over columns: plans first, then every cell with its controls, at most three
 * executions at once, and joins what came out. Order of phases, nothing else.
 */
import { randomBytes } from 'node:crypto';
import pLimit, { type LimitFunction } from 'p-limit';
import { Interrupted, TargetError, PermissionError } from '../domain/errors.ts';
import type {
  ArmReport,
  CellReport,
  ControlReport,
  RunOutcome,
  RunReport,
  StepReport,
} from '../domain/run-report.ts';
import type { ControlSpec, Scenario } from '../domain/scenario.ts';
import { displayTarget } from '../domain/target.ts';
import type { LockProtocol } from '../protocols/protocol.ts';
import { openProtocol } from '../protocols/registry.ts';
import type { ArmRequest } from './arm-request.ts';
import { runArm } from './arm.ts';
import type { Driver, Site } from './drivers/driver.ts';
import { requireFaults } from './faults/require-faults.ts';
import type { Fault } from './faults/fault.ts';
import { findFault as shippedFault } from './faults/registry.ts';
import type { HealSecrets } from './heal.ts';
import { planCell, planControl, planRun, seedOfRound, type Column, type RunPlan } from './plan.ts';
import { writeHistory } from '../checks/write-history.ts';
import { EarlyEnd, interrupted } from './early-end.ts';
import { faultLines, keepLogs, writeRunFile } from './run-folder.ts';
import { SetUpGate } from './set-up-gate.ts';
import { UndoJournal, type Environment } from './undo-journal.ts';
import {
  cellOutcome,
  controlProblems,
  joinOutcomes,
  judgeControl,
  runExitCode,
} from './verdicts.ts';
import { startWatchdog } from './watchdog.ts';

export interface RunRequest {
  readonly scenarios: readonly Scenario[];
  readonly columns: readonly Column[];
  readonly repeat: number;
  readonly seed: string;
  /** Give each round of a repeated scenario a seed of its own. Default: all have the same. */
  readonly varySeed?: boolean;
  readonly controls: boolean;
  /** Begin no further cell once one has failed. */
  readonly failFast?: boolean;
  readonly resourceUrl: string | undefined;
  /** Servers that are not ours: faults that act on them cannot be had. Default: false. */
  readonly live?: boolean;
  /** Version of this program. */
  readonly tool: string;
}

export interface RunContext {
  readonly driver: Driver;
  readonly runId: string;
  /** Made before; every file of the run goes there. */
  readonly folder: string;
  readonly env: Environment;
  /** For the watchdog, should this process be killed. */
  readonly secrets: HealSecrets;
  /** Ctrl-C. */
  readonly signal: AbortSignal;
  /** When everything is undone and the rest left out; undefined: never. */
  readonly deadlineMs?: number | undefined;
  readonly onProgress: (progress: Progress) => void;
  /** Faults by name; tests put broken ones here. Default: the shipped ones. */
  readonly findFault?: (name: string) => Fault | undefined;
}

/** One step of one execution came to its end. */
export interface Progress {
  readonly cell: string;
  readonly arm: string;
  readonly done: number;
  readonly total: number;
  readonly step: StepReport;
}

/** One scenario on one column, once. */
export interface Cell {
  readonly scenario: Scenario;
  readonly column: Column;
  readonly protocol: LockProtocol;
  readonly round: number;
  readonly folderName: string;
}

const executionsAtOnce = 3;

/** All values, or the first failure once everything has ended: nothing goes on behind the undo. */
async function allEnded<T extends readonly unknown[]>(promises: {
  readonly [Key in keyof T]: Promise<T[Key]>;
}): Promise<T> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

/** Replicas of the primary that the faults of a scenario need; 0: none acts on servers. */
function replicasNeeded({ steps }: Scenario): number {
  return Math.max(
    0,
    ...steps.map((step) =>
      step.kind === 'fault' ? (shippedFault(step.fault)?.needsReplicas ?? 0) : 0,
    ),
  );
}

/** Id of a new run: sorts by time. */
export function newRunId(now: Date): string {
  const stamp = now.toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);
  return `${stamp}-${randomBytes(2).toString('hex')}`;
}

/**
 * What the run would do. Touches nothing.
 * @throws {UsageError} a protocol that does not exist or does not run on a column; a fault that cannot
 *   be had there
 */
export async function planScenarios(
  request: Pick<RunRequest, 'scenarios' | 'columns' | 'repeat' | 'seed' | 'varySeed' | 'live'>,
): Promise<RunPlan> {
  const cells = await cellsOf({ ...request, repeat: 1 });
  for (const { scenario, protocol, column } of cells) {
    const place = { protocol, kind: column.kind, live: request.live ?? false };
    requireFaults(scenario, place, shippedFault);
  }
  return planRun(
    request,
    cells.map(({ scenario, column, protocol }) =>
      planCell(scenario, column, protocol, shippedFault),
    ),
  );
}

/** @throws {UsageError} a protocol that does not exist or does not run on a column */
export async function cellsOf(
  request: Pick<RunRequest, 'scenarios' | 'columns' | 'repeat'>,
): Promise<readonly Cell[]> {
  const { scenarios, columns, repeat } = request;
  const single = scenarios.length * columns.length * repeat === 1;
  const cells: Cell[] = [];
  for (const scenario of scenarios) {
    for (const column of columns) {
      const protocol = await openProtocol(column.protocol ?? scenario.protocol, column.kind);
      for (let round = 1; round <= repeat; round += 1) {
        const inFolder = column.name.replaceAll('/', '-');
        const name = `${scenario.name}-${inFolder}${repeat > 1 ? `-${round}` : ''}`;
        cells.push({ scenario, column, protocol, round, folderName: single ? '.' : name });
      }
    }
  }
  return cells;
}

/** Runs everything and undoes everything; never throws for what a target or scenario did. */
export async function runScenarios(
  request: RunRequest,
  plan: RunPlan,
  context: RunContext,
): Promise<RunReport> {
  const startedAt = new Date();
  const cells = await cellsOf(request);
  const journal = await UndoJournal.open(context.env, context.runId, context.folder);
  const watchdog = startWatchdog(journal.file, context.secrets);
  const end = new EarlyEnd(context.signal, context.deadlineMs);
  const run = new Run(request, context, journal, end);
  let reports: readonly CellReport[];
  let clean = true;
  try {
    const cellsAtOnce = pLimit(executionsAtOnce);
    reports = await allEnded(cells.map((cell) => cellsAtOnce(() => run.cell(cell))));
  } finally {
    end.close();
    clean = journal.close();
    if (clean) watchdog.stop();
  }
  // An arm that was interrupted tells no failures of its own, but the journal keeps what is left.
  const undoFailed = !clean || run.undoFailures.length > 0;
  const outcome = joinOutcomes(reports);
  return {
    schemaVersion: 1,
    runId: context.runId,
    tool: request.tool,
    startedAt: startedAt.toISOString(),
    tookMs: Date.now() - startedAt.getTime(),
    seed: request.seed,
    planHash: plan.hash,
    outcome,
    exitCode: runExitCode(outcome, undoFailed),
    undoFailed,
    cells: reports,
  };
}

class Run {
  readonly undoFailures: string[] = [];
  readonly #request: RunRequest;
  readonly #context: RunContext;
  readonly #journal: UndoJournal;
  readonly #executions: LimitFunction = pLimit(executionsAtOnce);
  readonly #gate = new SetUpGate();
  readonly #end: EarlyEnd;
  #failed = false;

  constructor(request: RunRequest, context: RunContext, journal: UndoJournal, end: EarlyEnd) {
    this.#request = request;
    this.#context = context;
    this.#journal = journal;
    this.#end = end;
  }

  async cell(cell: Cell): Promise<CellReport> {
    const { signal } = this.#end;
    let site: Site | undefined;
    try {
      signal.throwIfAborted();
      if (this.#failed && this.#request.failFast === true) {
        return this.#without(cell, site, 'inconclusive', 'not begun: another run failed before it');
      }
      site = await this.#open(cell);
      const report = await this.#onSite(cell, site);
      if (report.outcome !== 'passed') keepLogs(this.#context.folder, cell.folderName, site.logs);
      return report;
    } catch (error) {
      if (site !== undefined) keepLogs(this.#context.folder, cell.folderName, site.logs);
      return this.#notRun(cell, site, error);
    } finally {
      await site?.close();
    }
  }

  #open({ column, protocol, scenario }: Cell): Promise<Site> {
    const { driver } = this.#context;
    const { signal } = this.#end;
    const replicas = Math.max(protocol.replicas ?? 0, replicasNeeded(scenario));
    return driver.open(column.kind, replicas, signal);
  }

  async #onSite(cell: Cell, site: Site): Promise<CellReport> {
    const [main, ...controls] = await allEnded([
      this.#arm(cell, site, undefined),
      ...cell.scenario.controls.map((control) => this.#control(cell, site, control)),
    ]);
    const problems = [...main.problems, ...controlProblems(main, controls)];
    const outcome = cellOutcome(main, problems);
    this.#failed ||= outcome === 'failed';
    return { ...this.#head(cell, site), outcome, problems, main, controls };
  }

  async #control(cell: Cell, site: Site, control: ControlSpec): Promise<ControlReport> {
    const { mutate } = control;
    const { how, reason } = planControl(control, cell.protocol);
    if (how === 'prevented') {
      return { mutate, result: 'prevented', note: reason ?? '', arm: undefined };
    }
    if (!this.#request.controls) {
      return { mutate, result: 'not-run', note: '--no-controls', arm: undefined };
    }
    if (replicasNeeded(cell.scenario) === 0) {
      return judgeControl(control, await this.#arm(cell, site, mutate));
    }
    // What ends a server would end it for the other arms, too.
    const own = await this.#open(cell);
    try {
      const report = judgeControl(control, await this.#arm(cell, own, mutate));
      if (report.result !== 'went-red') {
        keepLogs(this.#context.folder, `${cell.folderName}/control-${mutate}`, own.logs);
      }
      return report;
    } finally {
      await own.close();
    }
  }

  #arm(cell: Cell, site: Site, mutation: string | undefined): Promise<ArmReport> {
    return this.#executions(async () => {
      const { folder } = this.#context;
      const request = this.#armRequest(cell, site, mutation);
      const { folderName } = request;
      writeRunFile(folder, `${folderName}/history.jsonl`, '');
      const result = await this.#afterSetUp((onReady) =>
        runArm(request, {
          journal: this.#journal,
          signal: this.#end.signal,
          findFault: this.#context.findFault ?? shippedFault,
          adopt: (group) => {
            site.adopt(group);
          },
          onReady,
          onStep: this.#progressOf(cell, request.arm),
        }),
      );
      this.undoFailures.push(...result.undoFailures);
      writeRunFile(folder, `${folderName}/history.jsonl`, writeHistory(result.history));
      writeRunFile(folder, `${folderName}/faults.jsonl`, faultLines(result.history));
      const left = result.undoFailures.map((failure) => `not undone: ${failure}`);
      return { ...result.report, problems: [...result.report.problems, ...left] };
    });
  }

  /** Lets `work` through the gate: it calls `onReady` when it has set up, or fails before. */
  async #afterSetUp<T>(work: (onReady: () => Promise<void>) => Promise<T>): Promise<T> {
    let inside = true;
    const leave = (): void => {
      if (inside) this.#gate.leave();
      inside = false;
    };
    this.#gate.enter();
    try {
      return await work(() => {
        leave();
        return this.#gate.quiet();
      });
    } finally {
      leave();
    }
  }

  #progressOf(cell: Cell, arm: string): (step: StepReport) => void {
    const total = cell.scenario.steps.length;
    let done = 0;
    return (step) => {
      done += 1;
      this.#context.onProgress({ cell: cell.column.name, arm, done, total, step });
    };
  }

  #armRequest(cell: Cell, site: Site, mutation: string | undefined): ArmRequest {
    const { folder, runId } = this.#context;
    const { tool, resourceUrl, controls } = this.#request;
    const { scenario, protocol } = cell;
    const seed = seedOfRound(this.#request, cell.round);
    const { target, throwaway, servers } = site;
    const folderName =
      mutation === undefined ? cell.folderName : `${cell.folderName}/control-${mutation}`;
    return {
      scenario,
      arm: mutation ?? 'main',
      mutation,
      protocol,
      target,
      throwaway,
      controls,
      servers,
      resourceUrl,
      seed,
      runId,
      tool,
      folder: `${folder}/${folderName}`,
      folderName,
    };
  }

  #head(
    cell: Cell,
    site: Site | undefined,
  ): Pick<CellReport, 'scenario' | 'title' | 'column' | 'protocol' | 'target' | 'round' | 'seed'> {
    const { scenario, column, protocol, round } = cell;
    return {
      scenario: scenario.name,
      title: scenario.title,
      column: column.name,
      protocol: protocol.id,
      target: site === undefined ? '' : displayTarget(site.target),
      round,
      ...(this.#request.varySeed === true ? { seed: seedOfRound(this.#request, round) } : {}),
    };
  }

  /** @throws what is neither the target's doing nor Ctrl-C */
  #notRun(cell: Cell, site: Site | undefined, error: unknown): CellReport {
    const told = this.#end.told ?? (error instanceof Interrupted ? interrupted : undefined);
    if (told !== undefined) return this.#without(cell, site, told.outcome, told.problem);
    const unreachable = error instanceof TargetError || error instanceof PermissionError;
    if (!unreachable) throw error;
    return this.#without(cell, site, 'unreachable', error.message);
  }

  #without(cell: Cell, site: Site | undefined, outcome: RunOutcome, problem: string): CellReport {
    const head = this.#head(cell, site);
    return { ...head, outcome, problems: [problem], main: undefined, controls: [] };
  }
}
