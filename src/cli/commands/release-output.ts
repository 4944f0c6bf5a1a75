/** What `release` prints: the plan, and what happened. */
import { formatDuration } from '../../domain/duration.ts';
import { valueOf } from '../../domain/known.ts';
import type { EndedSession, ReleaseResult } from '../../domain/release.ts';
import { placeWord } from '../../release/audit-log.ts';
import type { LogResult, ReleaseReport } from '../../release/execute.ts';
import type { Guard } from '../../release/guard.ts';
import type { ReleasePlan } from '../../release/plan.ts';
import { shellQuote } from '../../reports/escape.ts';
import { schemaVersion, toJsonText } from '../../reports/json.ts';
import { ownerWord } from '../../reports/locks-words.ts';
import { planLines } from '../../reports/release-plan.ts';
import type { Io } from '../io.ts';
import { refFlags } from '../lock-ref.ts';
import { paintFor } from '../output.ts';
import { targetFlag } from '../target-options.ts';
import type { ReleaseCommandOptions } from './release-options.ts';

export async function showPlan(
  plan: ReleasePlan,
  options: ReleaseCommandOptions,
  io: Io,
): Promise<void> {
  const lines = planLines(
    {
      lock: plan.detail.ref.name,
      executing: plan.request.execute,
      server: serverWord(plan),
      holders: releasedOwner(plan),
      deletes: plan.preview.deletes,
      replaces: plan.request.holdMs !== undefined,
      afterwards: plan.preview.afterwards,
      wakes: plan.preview.wakes,
      atomicity: plan.preview.atomicity,
      warnings: plan.preview.warnings,
      guards: plan.guards,
      overrides: plan.request.overrides,
      refusedBy: plan.refusedBy.map((guard) => withCommand(guard, plan, options)),
      columns: io.columns ?? 100,
      next: nextCommand(plan, options),
    },
    await paintFor(io),
  );
  await io.out(lines.map((line) => `${line}\n`).join(''));
}

/** Of several holders only the one that is meant. */
function releasedOwner({ detail }: ReleasePlan): string {
  return detail.ref.holder ?? ownerWord(detail, false);
}

function serverWord(plan: ReleasePlan): string {
  const version = valueOf(plan.probe.version);
  return version === undefined ? plan.display : `${plan.display} (${version})`;
}

/** A lease that ends soon is waited for: by this very command. */
function withCommand(guard: Guard, plan: ReleasePlan, options: ReleaseCommandOptions): Guard {
  if (guard.name !== 'expires-soon' || guard.state !== 'refused') return guard;
  const command = [...commandStart(plan, options), '--wait-expiry'].join(' ');
  return { ...guard, remedy: `wait for it instead: ${command}` };
}

function commandStart({ detail }: ReleasePlan, options: ReleaseCommandOptions): readonly string[] {
  return [
    'fencepost release',
    shellQuote(detail.ref.name),
    ...targetFlag(options),
    ...refFlags(options, detail.ref),
  ];
}

/** The same command, bound to the grant of this plan, ready to execute. */
function nextCommand(plan: ReleasePlan, options: ReleaseCommandOptions): string {
  const { request, detail } = plan;
  const name = shellQuote(detail.ref.name);
  return [
    ...commandStart(plan, options),
    ...(detail.identity === undefined ? [] : ['--expect', shellQuote(detail.identity.expect)]),
    ...(request.reason === undefined ? [] : ['--reason', shellQuote(request.reason)]),
    ...[...request.overrides].map(([guard, why]) => `--override ${shellQuote(`${guard}=${why}`)}`),
    ...(request.holdMs === undefined ? [] : ['--hold', formatDuration(request.holdMs)]),
    ...(request.endSession ? ['--end-session'] : []),
    ...(request.fenceFloor === undefined ? [] : ['--fence-floor', shellQuote(request.fenceFloor)]),
    ...(request.notify === undefined ? [] : ['--notify', shellQuote(request.notify)]),
    '--execute',
    ...(request.interactive ? [] : ['--confirm', name]),
  ].join(' ');
}

/** A plan as JSON; the identity's inner record stays inside. */
export function planJson(plan: ReleasePlan): object {
  return {
    schemaVersion,
    lock: plan.detail.ref.name,
    target: plan.display,
    server: plan.probe.server,
    clusterId: plan.probe.clusterId,
    expect: plan.detail.identity?.expect,
    holder: plan.detail.ref.holder,
    holders: plan.detail.holders,
    lease: plan.detail.lease,
    liveness: plan.liveness,
    sample: plan.sample,
    preview: plan.preview,
    guards: plan.guards,
    overrides: Object.fromEntries(plan.request.overrides),
    refusedBy: plan.refusedBy.map((guard) => guard.name),
    executed: false,
    ...(plan.request.execute ? { outcome: 'refused' } : {}),
  };
}

export async function showOutcome(
  plan: ReleasePlan,
  report: ReleaseReport,
  options: ReleaseCommandOptions,
  io: Io,
): Promise<void> {
  if (options.output === 'json') {
    const { outcome, result, notified, verification, log } = report;
    const executed = log.kind !== 'not-begun' && notified?.told !== false;
    const document = { ...planJson(plan), executed, outcome, result, notified, verification, log };
    await io.out(`${toJsonText(document)}\n`);
    return;
  }
  await io.out(
    outcomeLines(plan, report)
      .map((line) => `${line}\n`)
      .join(''),
  );
}

function outcomeLines(plan: ReleasePlan, report: ReleaseReport): readonly string[] {
  const { result, verification } = report;
  const heading = [
    outcomeWord(report),
    plan.detail.ref.name,
    `was ${releasedOwner(plan)}`,
    ...logWords(report.log),
  ];
  const lines = [heading.join('   '), ...resultLines(result), ...notifiedLines(report)];
  if (verification !== undefined) lines.push(line('verified', verification.note));
  if (result.fenceRaisedTo !== undefined) {
    const floor = plan.preview.fenceFloor;
    const at = floor?.can === true ? ` at ${floor.record}` : '';
    const to = `${result.fenceRaisedTo.toString()}${at}`;
    const fences = 'it fences nobody unless the resource refuses smaller tokens';
    lines.push(line('fence', `raised to ${to}; ${fences}`));
  }
  if (result.session !== undefined) lines.push(line('session', result.session.text));
  return [...lines, line('note', noteOf(result))];
}

function notifiedLines({ notified, result }: ReleaseReport): readonly string[] {
  if (notified?.told !== true) return [];
  const floor = `the resource was told of floor ${notified.floor.toString()}`;
  const kept = result.outcome === 'released' ? '' : '; that harms nobody';
  return [line('notify', `${floor}${kept}`)];
}

function noteOf({ outcome, session }: ReleaseResult): string {
  switch (outcome) {
    case 'released':
    case 'foreign-removed':
      return `${toldWords(session)}; a paused process may still write`;
    case 'unknown':
      if (session !== undefined) return `the lock was released; ${toldWords(session)}`;
      return 'whether it was deleted is not known: look again with `fencepost show`';
    case 'changed-hands':
    case 'already-gone':
    case 'refused':
      return 'nothing was deleted';
  }
}

/** Only the end of its session tells an owner, and only an owner that listens. */
function toldWords(session: EndedSession | undefined): string {
  if (session?.ended.kind === 'unknown') return 'whether its owner was told is not known';
  return session?.ended.value === true
    ? 'its owner is told by the end of its session'
    : 'its owner has not been told';
}

function outcomeWord({ outcome, verification }: ReleaseReport): string {
  return verification?.outcome === 'taken-over' && outcome === 'taken-over-by'
    ? `taken-over-by ${verification.owner}`
    : outcome;
}

function logWords(log: LogResult): readonly string[] {
  switch (log.kind) {
    case 'line':
      return [`log ${placeWord(log.place)}`];
    case 'failed':
      return [`OUTCOME NOT LOGGED: ${log.reason}`];
    case 'not-begun':
      return [];
  }
}

function line(label: string, text: string): string {
  return `${label.padEnd(10)} ${text}`;
}

function resultLines(result: ReleaseResult): readonly string[] {
  switch (result.outcome) {
    case 'released':
      return result.woken.kind === 'unknown' ? [line('waiters', result.woken.reason)] : [];
    case 'already-gone':
      return [];
    case 'changed-hands':
      return [line('now', result.now)];
    case 'unknown':
      return [line('reason', result.reason)];
    case 'foreign-removed':
      return [line('removed', `${result.removed.join(', ')}: a grant made after ours fell too`)];
    case 'refused':
      return [
        line('reason', result.reason),
        ...(result.remedy === undefined ? [] : [line('next', result.remedy)]),
      ];
  }
}
