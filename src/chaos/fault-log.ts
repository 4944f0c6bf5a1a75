/** The faults of one arm: begun, ended in reverse order, each with its journal entries and evidence. */
import { FencepostError } from '../domain/errors.ts';
import type { Evidence } from '../domain/evidence.ts';
import type { EvidenceReport, FaultReport } from '../domain/run-report.ts';
import type { Step } from '../domain/scenario.ts';
import type { Actor } from './actor.ts';
import type { ActiveFault, Fault, FaultScene } from './faults/fault.ts';
import type { Recorder } from './recorder.ts';
import type { UndoJournal } from './undo-journal.ts';

type FaultStep = Step & { kind: 'fault' };

interface Entry {
  readonly step: FaultStep;
  readonly active: ActiveFault;
  readonly journalIds: readonly number[];
  readonly timer: NodeJS.Timeout;
  report: FaultReport;
}

export interface FaultLogOptions {
  readonly recorder: Recorder;
  readonly journal: UndoJournal;
  readonly findFault: (name: string) => Fault | undefined;
  readonly scene: FaultScene;
  readonly signal: AbortSignal;
}

export class FaultLog {
  readonly #options: FaultLogOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #finished: FaultReport[] = [];
  readonly #failures: string[] = [];

  constructor(options: FaultLogOptions) {
    this.#options = options;
  }

  /** Every fault so far, in the order of their begin. */
  reports(): readonly FaultReport[] {
    return [...this.#finished, ...[...this.#entries.values()].map(({ report }) => report)].sort(
      (a, b) => a.beganAtMs - b.beganAtMs,
    );
  }

  /** Faults that could not be ended when their lifetime was over. */
  get failures(): readonly string[] {
    return [...this.#failures];
  }

  /** Steps of the faults that are on. */
  get active(): ReadonlyMap<string, FaultStep> {
    return new Map([...this.#entries].map(([id, { step }]) => [id, step]));
  }

  /** Begins the fault of a step. Its end comes by `end`, `endAll`, or after `lifetimeMs`. */
  async begin(step: FaultStep, actor: Actor, lifetimeMs: number): Promise<FaultReport> {
    const { recorder, journal, findFault, scene, signal } = this.#options;
    const fault = findFault(step.fault);
    if (fault === undefined) {
      throw new FencepostError(`there is no fault "${step.fault}"`, { code: 'unknown-fault' });
    }
    const journalIds: number[] = [];
    const active = await fault.begin({
      ...scene,
      id: step.id,
      worker: actor.handle,
      proxies: actor.proxies,
      get owner() {
        return actor.owner;
      },
      options: step.options,
      lifetimeMs,
      nowNs: () => recorder.nowNs(),
      willDo: (what) => {
        journalIds.push(journal.will(what, { type: 'kill-group', group: actor.handle.group }));
        return Promise.resolve();
      },
      signal,
    });
    const report = this.#recordBegin(step, active);
    const timer = setTimeout(() => {
      this.#outlived(step.id, lifetimeMs).catch((error: unknown) => {
        this.#failures.push(`fault ${step.id} could not be ended: ${String(error)}`);
      });
    }, lifetimeMs);
    this.#entries.set(step.id, { step, active, journalIds, timer, report });
    return fault.kind === 'instant' ? this.end(step.id) : report;
  }

  /** Ends one fault and proves that it lasted. @throws {FencepostError} when it is not on */
  async end(id: string, extra: readonly Evidence[] = []): Promise<FaultReport> {
    const entry = this.#entries.get(id);
    if (entry === undefined) {
      throw new FencepostError(`fault ${id} has ended already`, { code: 'fault-ended' });
    }
    clearTimeout(entry.timer);
    this.#entries.delete(id);
    const evidence = [...extra, ...(await entry.active.end())];
    for (const journalId of entry.journalIds) this.#options.journal.done(journalId);
    const { recorder } = this.#options;
    recorder.record({ ...eventOf(entry.step, entry.active), phase: 'end', evidence });
    const report = {
      ...entry.report,
      endedAtMs: recorder.reportMs(),
      evidence: [...entry.report.evidence, ...evidence.map((one) => toReport(one, recorder))],
    };
    this.#finished.push({ ...report, proven: isProven(report.evidence) });
    return { ...report, proven: isProven(report.evidence) };
  }

  /** Ends what is on, latest first. */
  async endAll(): Promise<void> {
    for (const id of [...this.#entries.keys()].reverse()) await this.end(id);
  }

  /** A fault that time brought about: begun and ended when it was seen. */
  observed(id: string, fault: string, target: string, evidence: readonly Evidence[]): FaultReport {
    const { recorder } = this.#options;
    const event = { kind: 'fault', process: 'observer', source: 'service', faultId: id } as const;
    recorder.record({ ...event, fault, target, phase: 'begin', evidence: [] });
    recorder.record({ ...event, fault, target, phase: 'end', evidence });
    const atMs = recorder.reportMs();
    const reports = evidence.map((one) => toReport(one, recorder));
    const report: FaultReport = {
      id,
      fault,
      target,
      beganAtMs: atMs,
      endedAtMs: atMs,
      proven: isProven(reports),
      evidence: reports,
    };
    this.#finished.push(report);
    return report;
  }

  #recordBegin(step: FaultStep, active: ActiveFault): FaultReport {
    const { recorder } = this.#options;
    const { evidence, target } = active;
    recorder.record({ ...eventOf(step, active), phase: 'begin', evidence });
    return {
      id: step.id,
      fault: step.fault,
      target,
      beganAtMs: recorder.reportMs(),
      endedAtMs: undefined,
      proven: false,
      evidence: evidence.map((one) => toReport(one, recorder)),
    };
  }

  /** Nobody ended it in time: it must not outlive the script's own idea of it. */
  async #outlived(id: string, lifetimeMs: number): Promise<void> {
    if (!this.#entries.has(id)) return;
    await this.end(id, [
      {
        source: 'runner',
        atNs: this.#options.recorder.nowNs(),
        fact: `ended after its lifetime of ${lifetimeMs} ms, before the step that ends it`,
        proves: 'it lasted as long as the script wanted',
        holds: false,
      },
    ]);
  }
}

function eventOf(
  step: FaultStep,
  { target }: ActiveFault,
): {
  readonly kind: 'fault';
  readonly process: 'nemesis';
  readonly source: 'driver';
  readonly fault: string;
  readonly faultId: string;
  readonly target: string;
} {
  const { fault, id: faultId } = step;
  return { kind: 'fault', process: 'nemesis', source: 'driver', fault, faultId, target };
}

function isProven(evidence: readonly EvidenceReport[]): boolean {
  return evidence.length > 0 && evidence.every(({ holds }) => holds);
}

function toReport(
  { source, atNs, fact, proves, holds }: Evidence,
  recorder: Recorder,
): EvidenceReport {
  const atMs = atNs === undefined ? undefined : recorder.reportMs(atNs);
  return { source, atMs, fact, proves, holds };
}
