/** The work of `release`: plan, show, confirm, execute, tell. */
import { hostname, userInfo } from 'node:os';
import { randomBytes } from 'node:crypto';
import type { Backend } from '../../backends/backend.ts';
import { formatDuration } from '../../domain/duration.ts';
import {
  exitCodes,
  GuardRefused,
  LockChanged,
  UsageError,
  type ExitCode,
} from '../../domain/errors.ts';
import { parseText, stringToText } from '../../domain/text.ts';
import { AuditLog, auditLogFile } from '../../release/audit-log.ts';
import { executeRelease } from '../../release/execute.ts';
import { parseOverrides } from '../../release/overrides.ts';
import { planRelease, type PlanRequest, type ReleasePlan } from '../../release/plan.ts';
import { waitForExpiry } from '../../release/wait-expiry.ts';
import { schemaVersion, toJsonText } from '../../reports/json.ts';
import type { Io } from '../io.ts';
import { lockRef } from '../lock-ref.ts';
import { progressOn } from '../output.ts';
import { askLine } from '../prompts.ts';
import { withTarget } from '../target-options.ts';
import type { ReleaseCommandOptions } from './release-options.ts';
import { planJson, showOutcome, showPlan } from './release-output.ts';

/** A lease with less than this left is better waited for than broken. */
const soonMs = 10_000;
/** A command that tells a resource has this long: it may have to reach several of them. */
const notifyMs = 30_000;

/**
 * Plans a release and, with `--execute`, carries it out.
 * @throws {UsageError} a pattern instead of a name, a bad override
 * @throws {GuardRefused} a guard refuses to execute, or the name typed is another
 * @throws {LockChanged} the lock is gone or another's: nothing was deleted
 */
export function runRelease(
  name: string,
  options: ReleaseCommandOptions,
  io: Io,
): Promise<ExitCode> {
  refusePattern(name);
  const request = toRequest(name, options, io);
  return withTarget(options, io, async (backend) => {
    if (options.waitExpiry === true) return wait(backend, request, options, io);
    const log = await AuditLog.open(options.auditLog ?? auditLogFile(io.env));
    if (log.brokenAt !== undefined) {
      io.err(
        `fencepost: the audit log's chain is broken at line ${log.brokenAt}: it was edited or cut off\n`,
      );
    }
    const plan = await makePlan(backend, request, log, io).catch(async (error: unknown) => {
      if (options.output === 'json') await tellChange(error, backend, request, io);
      throw error;
    });
    if (options.execute !== true || plan.refusedBy.length > 0) {
      return showPlanOnly(plan, options, io);
    }
    return execute(backend, plan, log, options, io);
  });
}

/** One lock at a time: a pattern would make a list of locks out of one confirmation. */
function refusePattern(name: string): void {
  if (!/[*?]/.test(name)) return;
  throw new UsageError(`"${name}" looks like a pattern: one lock is released at a time`, {
    code: 'no-patterns',
    hint: 'name the lock exactly; a real * in a name is written \\x2a, a real ? \\x3f',
    definite: true,
  });
}

function toRequest(name: string, options: ReleaseCommandOptions, io: Io): PlanRequest {
  return {
    execute: options.execute === true,
    ref: lockRef(name, options),
    expect: options.expect,
    interactive: io.inIsTerminal,
    confirm: options.confirm === undefined ? undefined : parseText(options.confirm),
    reason: options.reason === undefined ? undefined : stringToText(options.reason),
    holdMs: options.hold,
    endSession: options.endSession === true,
    fenceFloor: options.fenceFloor === undefined ? undefined : parseText(options.fenceFloor),
    notify: options.notify,
    observe: options.observe,
    overrides: parseOverrides(options.override ?? []),
    holdOwner: stringToText(
      `fencepost-hold:${userName()}@${hostname()}:${randomBytes(8).toString('hex')}`,
    ),
    soonMs,
  };
}

async function makePlan(
  backend: Backend,
  request: PlanRequest,
  log: AuditLog,
  io: Io,
): Promise<ReleasePlan> {
  const progress = progressOn(io);
  try {
    return await planRelease(backend, request, log, io.signal, (elapsedMs, totalMs) => {
      progress.show(
        `watching the lease: ${formatDuration(elapsedMs)} of ${formatDuration(totalMs)}…`,
      );
    });
  } finally {
    progress.clear();
  }
}

/** For programs, a lock that is gone or another's is an outcome like any other; stderr says it to people. */
async function tellChange(
  error: unknown,
  backend: Backend,
  request: PlanRequest,
  io: Io,
): Promise<void> {
  if (!(error instanceof LockChanged)) return;
  await io.out(
    `${toJsonText({
      schemaVersion,
      lock: request.ref.name,
      target: backend.display,
      executed: false,
      outcome: error.code,
      reason: error.message,
    })}\n`,
  );
}

async function showPlanOnly(
  plan: ReleasePlan,
  options: ReleaseCommandOptions,
  io: Io,
): Promise<ExitCode> {
  if (options.output === 'json') await io.out(`${toJsonText(planJson(plan))}\n`);
  else await showPlan(plan, options, io);
  return plan.refusedBy.length > 0 ? exitCodes.refused : exitCodes.ok;
}

async function execute(
  backend: Backend,
  plan: ReleasePlan,
  log: AuditLog,
  options: ReleaseCommandOptions,
  io: Io,
): Promise<ExitCode> {
  if (options.confirm === undefined) await confirmTyped(plan, options, io);
  const report = await executeRelease(
    backend,
    plan,
    log,
    {
      operator: { user: userName(), host: hostname() },
      timeoutMs: options.timeout,
      verifyMs: options.verify,
      notifyMs,
    },
    io.signal,
  );
  await showOutcome(plan, report, options, io);
  return report.exitCode;
}

/** A container may run under a user id that no name belongs to. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // Nothing is lost: the id is what identifies the user.
    return `uid ${process.getuid?.() ?? '?'}`;
  }
}

/** The plan is shown, then the name is typed. */
async function confirmTyped(
  plan: ReleasePlan,
  options: ReleaseCommandOptions,
  io: Io,
): Promise<void> {
  if (options.output !== 'json') await showPlan(plan, options, io);
  const { name } = plan.detail.ref;
  const typed = await askLine(`Type the lock's name to release it: `, io);
  if (parseText(typed.trim()) === name) return;
  throw new GuardRefused('the name typed is not the name of the lock', {
    code: 'not-confirmed',
    hint: `nothing was deleted; the name is ${name}`,
    definite: true,
  });
}

async function wait(
  backend: Backend,
  request: PlanRequest,
  options: ReleaseCommandOptions,
  io: Io,
): Promise<ExitCode> {
  const waited = await waitForExpiry(backend, request.ref, io.signal);
  const lock = request.ref.name;
  if (options.output === 'json') {
    await io.out(`${toJsonText({ schemaVersion, lock, outcome: 'ended-by-itself', ...waited })}\n`);
  } else {
    await io.out(
      `ended by itself   ${lock}   after ${formatDuration(waited.waitedMs)}; now ${waited.now}; nothing was deleted\n`,
    );
  }
  return exitCodes.ok;
}
