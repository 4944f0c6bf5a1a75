/** What `release` prints: the plan, and what happened. */
import { formatDuration } from '../../domain/duration.ts';
import { valueOf } from '../../domain/known.ts';
import type { ReleaseReport } from '../../release/execute.ts';
import type { ReleasePlan } from '../../release/plan.ts';
import { shellQuote } from '../../reports/escape.ts';
import { schemaVersion, toJsonText } from '../../reports/json.ts';
import { ownerWord } from '../../reports/locks-words.ts';
import { planLines } from '../../reports/release-plan.ts';
import type { Io } from '../io.ts';
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
      server: serverWord(plan),
      holders: ownerWord(plan.detail, false),
      deletes: plan.preview.deletes,
      replaces: plan.request.holdMs !== undefined,
      wakes: plan.preview.wakes,
      atomicity: plan.preview.atomicity,
      warnings: plan.preview.warnings,
      guards: plan.guards,
      overrides: plan.request.overrides,
      refusedBy: plan.refusedBy,
      next: nextCommand(plan, options),
    },
    await paintFor(io),
  );
  await io.out(lines.map((line) => `${line}\n`).join(''));
}

function serverWord(plan: ReleasePlan): string {
  const version = valueOf(plan.probe.version);
  return version === undefined ? plan.display : `${plan.display} (${version})`;
}

/** The same command, bound to the grant of this plan, ready to execute. */
function nextCommand(plan: ReleasePlan, options: ReleaseCommandOptions): string {
  const { request, detail } = plan;
  const name = shellQuote(detail.ref.name);
  return [
    'fencepost release',
    name,
    ...targetFlag(options),
    ...(options.convention === undefined ? [] : ['--convention', shellQuote(options.convention)]),
    ...(detail.identity === undefined ? [] : ['--expect', shellQuote(detail.identity.expect)]),
    ...(request.reason === undefined ? [] : ['--reason', shellQuote(request.reason)]),
    ...[...request.overrides].map(([guard, why]) => `--override ${shellQuote(`${guard}=${why}`)}`),
    ...(request.holdMs === undefined ? [] : ['--hold', formatDuration(request.holdMs)]),
    ...(request.endSession ? ['--end-session'] : []),
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
    holders: plan.detail.holders,
    lease: plan.detail.lease,
    liveness: plan.liveness,
    sample: plan.sample,
    preview: plan.preview,
    guards: plan.guards,
    overrides: Object.fromEntries(plan.request.overrides),
    refusedBy: plan.refusedBy.map((guard) => guard.name),
    executed: false,
  };
}

export async function showOutcome(
  plan: ReleasePlan,
  report: ReleaseReport,
  options: ReleaseCommandOptions,
  io: Io,
): Promise<void> {
  if (options.output === 'json') {
    const { outcome, result, verification, log } = report;
    const document = { ...planJson(plan), executed: true, outcome, result, verification, log };
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
  const { result, verification, log } = report;
  const where =
    log === undefined
      ? 'NOT LOGGED: the audit log could not be written'
      : `log ${log.day}#${log.number}`;
  const lines = [
    `${report.outcome}   ${plan.detail.ref.name}   was ${ownerWord(plan.detail, false)}   ${where}`,
    ...resultLines(report),
  ];
  if (verification !== undefined) lines.push(`verified   ${verification.note}`);
  if (result.fenceRaisedTo !== undefined) {
    lines.push(
      `fence      raised to ${result.fenceRaisedTo.toString()}; it fences only where the resource refuses smaller tokens`,
    );
  }
  if (result.outcome === 'released') {
    lines.push('note       its owner has not been told; a paused process may still write');
  }
  return lines;
}

function resultLines({ result, verification }: ReleaseReport): readonly string[] {
  switch (result.outcome) {
    case 'released': {
      const next =
        verification?.outcome === 'taken-over'
          ? [`next       ${verification.owner}, higher fence: ${verification.higherFence}`]
          : [];
      return next;
    }
    case 'changed-hands':
      return [`now        ${result.now}`, 'nothing was deleted'];
    case 'already-gone':
      return ['nothing was deleted'];
    case 'unknown':
      return [
        `reason     ${result.reason}`,
        'whether it was deleted is not known: look again with `fencepost show`',
      ];
    case 'foreign-removed':
      return [`removed    ${result.removed.join(', ')}: a grant made after ours fell too`];
    case 'refused':
      return [
        `reason     ${result.reason}`,
        ...(result.remedy === undefined ? [] : [`next       ${result.remedy}`]),
        'nothing was deleted',
      ];
  }
}
