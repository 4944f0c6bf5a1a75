/** The folder of a run: what was planned, seen and judged, as files; and `latest` beside it. */
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { writeLine } from '../checks/write-history.ts';
import type { History } from '../domain/event.ts';
import { UsageError } from '../domain/errors.ts';
import type { RunReport } from '../domain/run-report.ts';
import type { ServerLog } from './drivers/driver.ts';
import { runReportShape } from './run-report-schema.ts';

/** Makes `OUT/RUN_ID` and points `OUT/latest` to it. @throws {UsageError} `bad-out` */
export function makeRunFolder(out: string, runId: string): string {
  const folder = join(out, runId);
  try {
    mkdirSync(folder, { recursive: true });
    pointLatest(out, runId);
  } catch (cause) {
    throw new UsageError(`cannot write the run's folder "${folder}"`, {
      code: 'bad-out',
      hint: 'name another one with --out',
      cause,
      definite: true,
    });
  }
  return folder;
}

/** Replaced in one step: two runs at once leave one of their links, never none. */
function pointLatest(out: string, runId: string): void {
  const draft = join(out, `.latest-${runId}`);
  symlinkSync(runId, draft);
  renameSync(draft, join(out, 'latest'));
}

/** Writes a file of the run; a name with folders makes them. */
export function writeRunFile(folder: string, name: string, text: string): void {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const logBytes = 1024 ** 2;

/** Copies the last megabyte of each server's log to `name/logs`. A log that is gone is left out. */
export function keepLogs(folder: string, name: string, logs: readonly ServerLog[]): void {
  for (const { name: server, file } of logs) {
    const tail = readTail(file, logBytes);
    if (tail !== undefined) writeRunFile(folder, `${name}/logs/${server}.log`, tail);
  }
}

function readTail(file: string, bytes: number): string | undefined {
  const whole = readText(file);
  if (whole === undefined || whole.length <= bytes) return whole;
  return `… ${whole.length - bytes} characters before this are left out\n${whole.slice(-bytes)}`;
}

/** The faults alone, one event a line. */
export function faultLines({ events }: History): string {
  return events
    .filter(({ kind }) => kind === 'fault')
    .map(writeLine)
    .join('');
}

export interface FinishedRun {
  readonly folder: string;
  readonly report: RunReport;
}

/**
 * Reads the report of a finished run.
 * @param run a run's folder, its id under `out`, or `latest`
 * @throws {UsageError} `no-run`
 */
export function readRun(run: string, out: string): FinishedRun {
  for (const folder of [join(out, run), run]) {
    const text = readText(join(folder, 'run.json'));
    if (text === undefined) continue;
    const parsed = runReportShape.safeParse(parseJson(text));
    if (parsed.success) return { folder, report: parsed.data };
    throw new UsageError(`"${join(folder, 'run.json')}" is not the report of a run`, {
      code: 'no-run',
      definite: true,
    });
  }
  throw new UsageError(`there is no finished run "${run}"`, {
    code: 'no-run',
    hint: `give the folder of a run, an id in ${out}, or latest`,
    definite: true,
  });
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Not there: the next place is tried.
    return undefined;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Said by the caller, with the file's name.
    return undefined;
  }
}
