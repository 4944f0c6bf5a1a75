/** The work of `run`: read scenarios, choose columns, plan, run, write the folder, render. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { labDriver } from '../../chaos/drivers/lab.ts';
import { liveDriver } from '../../chaos/drivers/live.ts';
import { requireCleanJournals } from '../../chaos/heal.ts';
import { rehearse } from '../../chaos/rehearsal.ts';
import { makeRunFolder, writeRunFile } from '../../chaos/run-folder.ts';
import { newRunId, planScenarios, runScenarios, type Progress } from '../../chaos/runner.ts';
import type { Driver } from '../../chaos/drivers/driver.ts';
import type { Column } from '../../chaos/plan.ts';
import { exitCodes, UsageError, type ExitCode } from '../../domain/errors.ts';
import type { RunReport } from '../../domain/run-report.ts';
import type { Scenario } from '../../domain/scenario.ts';
import { Secret, type BackendKind, type Target } from '../../domain/target.ts';
import { protocolIds, protocolTargets } from '../../protocols/registry.ts';
import { checkResourceUrl } from '../../resources/resource-url.ts';
import { toJsonText } from '../../reports/json.ts';
import { renderJunit } from '../../reports/junit.ts';
import { renderMarkdown } from '../../reports/run-markdown.ts';
import { renderPlan } from '../../reports/run-plan.ts';
import { version } from '../version.ts';
import type { Io } from '../io.ts';
import { progressOn, type RunFormat } from '../output.ts';
import { namedTarget, type TargetOptions } from '../target-options.ts';
import { printRun, runHtml, runJson } from './run-output.ts';
import { readScenarios } from './scenario-files.ts';

export interface RunOptions extends TargetOptions {
  readonly lab?: true;
  readonly matrix?: string;
  readonly seed?: string;
  readonly repeat: number;
  readonly varySeed?: true;
  readonly out: string;
  readonly junit?: string;
  readonly summary?: string;
  readonly filter?: string;
  readonly failFast?: true;
  /** Milliseconds. */
  readonly deadline?: number;
  readonly resource?: string;
  readonly controls: boolean;
  readonly dryRun?: true;
  readonly output: RunFormat;
}

/** Runs the scenarios of `files` and renders what came out. */
export async function run(
  files: readonly string[],
  options: RunOptions,
  io: Io,
): Promise<ExitCode> {
  const scenarios = readScenarios(files, options.filter);
  const seed = options.seed ?? commonSeed(scenarios) ?? randomBytes(4).readUInt32BE().toString();
  const { driver, columns, password, target } = await chooseSite(options, io);
  const resourceUrl = resourceOf(options, io);
  const request = {
    scenarios,
    columns,
    repeat: options.repeat,
    seed,
    varySeed: options.varySeed === true,
    controls: options.controls,
    failFast: options.failFast === true,
    resourceUrl,
    live: options.lab !== true,
    tool: version(),
  };
  const plan = await planScenarios(request);
  if (options.dryRun === true) {
    const found = target === undefined ? [] : await rehearse(request, target, io.env, io.signal);
    for (const line of found) io.err(`fencepost: ${line}\n`);
    await io.out(options.output === 'json' ? `${toJsonText(plan)}\n` : renderPlan(plan));
    return exitCodes.ok;
  }
  await requireCleanJournals(io.env);
  const runId = newRunId(new Date());
  const folder = makeRunFolder(options.out, runId);
  writeRunFile(folder, 'plan.json', `${toJsonText(plan)}\n`);
  io.err(`fencepost: run ${runId}, seed ${seed}\n`);
  const progress = progressOn(io);
  const onProgress = (step: Progress): void => {
    tell(step, progress, io);
  };
  const { env, signal } = io;
  const letExit = io.holdExit();
  const report = await runScenarios(request, plan, {
    driver,
    runId,
    folder,
    env,
    secrets: {
      password,
      resourceUrl: resourceUrl === undefined ? undefined : new Secret(resourceUrl),
    },
    signal,
    deadlineMs: options.deadline,
    onProgress,
  }).finally(letExit);
  progress.clear();
  writeResults(report, folder, options);
  await printRun({ folder, report }, options.output, io);
  io.err(`fencepost: report in ${join(folder, 'report.html')}\n`);
  return exitOf(report);
}

function commonSeed(scenarios: readonly Scenario[]): string | undefined {
  return scenarios.find(({ seed }) => seed !== undefined)?.seed;
}

interface ChosenSite {
  readonly driver: Driver;
  readonly columns: readonly Column[];
  readonly password: Secret | undefined;
  /** Undefined: the lab's servers are not there yet. */
  readonly target: Target | undefined;
}

function resourceOf(options: RunOptions, io: Io): string | undefined {
  const url = options.resource ?? io.env['FENCEPOST_RESOURCE'];
  if (url === undefined || url === '') return undefined;
  checkResourceUrl(url);
  return url;
}

async function chooseSite(options: RunOptions, io: Io): Promise<ChosenSite> {
  const named = options.target !== undefined || options.context !== undefined;
  if (options.lab === true) {
    if (named) {
      throw new UsageError('--lab and --target or --context exclude each other', {
        code: 'which-target',
        hint: 'leave one of them out',
        definite: true,
      });
    }
    return {
      driver: labDriver(io.env),
      columns: columnsOf(options.matrix ?? 'redis', undefined),
      password: undefined,
      target: undefined,
    };
  }
  if (!named && io.env['FENCEPOST_TARGET'] === undefined) {
    throw new UsageError('a run needs servers', {
      code: 'no-target',
      hint: 'add --lab for throwaway servers, or --target redis://HOST:PORT',
      definite: true,
    });
  }
  const target = await namedTarget(options, io);
  return {
    driver: liveDriver(target),
    columns: columnsOf(options.matrix ?? target.kind, target.kind),
    password: target.password,
    target,
  };
}

const labKinds: readonly BackendKind[] = [
  'redis',
  'redis-sentinel',
  'redis-cluster',
  'redlock',
  'etcd',
  'zookeeper',
];

/** @param only the kind of the one target there is; undefined: the lab starts any */
function columnsOf(list: string, only: BackendKind | undefined): readonly Column[] {
  const kinds = only === undefined ? labKinds : [only];
  const possible = kinds.filter((kind) => protocolIds(kind).length > 0);
  if (list === 'all') {
    return possible.map((kind) => ({ name: kind, kind, protocol: undefined }));
  }
  return list.split(',').map((word) => columnOf(word.trim(), kinds));
}

/** `KIND`, `PROTOCOL` on the first kind that it runs on, or `KIND/PROTOCOL`. */
function columnOf(word: string, kinds: readonly BackendKind[]): Column {
  const kind = kinds.find((known) => word === known || word.startsWith(`${known}/`));
  if (kind !== undefined && kind === word) return { name: word, kind, protocol: undefined };
  const protocol = kind === undefined ? word : word.slice(kind.length + 1);
  const possible = kind === undefined ? kinds : [kind];
  const target = protocolTargets(protocol)?.find((known) => possible.includes(known));
  if (target !== undefined) return { name: word, kind: target, protocol };
  const known = [...kinds, ...new Set(kinds.flatMap((each) => protocolIds(each))), 'all'];
  throw new UsageError(`"${word}" is not a column of the matrix`, {
    code: 'unknown-column',
    hint: `here it may be ${known.join(', ')}, or KIND/PROTOCOL`,
    definite: true,
  });
}

function tell(
  { cell, arm, done, total, step }: Progress,
  line: ReturnType<typeof progressOn>,
  io: Io,
): void {
  const name = arm === 'main' ? cell : `${cell}, control ${arm}`;
  if (done < total) {
    line.show(`${name}  ${done}/${total}  ${step.text}`);
    return;
  }
  line.clear();
  if (io.signal.aborted) return;
  const reached =
    step.status === 'not-reached' ? 'ended early' : `${((step.atMs ?? 0) / 1000).toFixed(1)} s`;
  io.err(`fencepost: ${name}  ${done}/${total}  ${reached}\n`);
}

function writeResults(
  report: RunReport,
  folder: string,
  { junit, summary }: Pick<RunOptions, 'junit' | 'summary'>,
): void {
  const xml = renderJunit(report);
  writeRunFile(folder, 'run.json', runJson(report));
  writeRunFile(folder, 'junit.xml', xml);
  writeRunFile(folder, 'report.html', runHtml({ folder, report }));
  if (junit !== undefined) writeFileSync(junit, xml);
  if (summary !== undefined) writeFileSync(summary, renderMarkdown(report));
}

/** The report carries a plain number, so that it can be read again from its file. */
function exitOf(report: RunReport): ExitCode {
  return Object.values(exitCodes).find((code) => code === report.exitCode) ?? exitCodes.bug;
}
