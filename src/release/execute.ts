/**
 * Carries a plan out, in this order: look again, intent on disk, the atomic release, a few seconds
 * of verification, outcome on disk. Ctrl-C before the write touches nothing; after it the outcome
 * is still recorded.
 */
import type { Backend } from '../backends/backend.ts';
import { exitCodes, GuardRefused, LockChanged, type ExitCode } from '../domain/errors.ts';
import type { Probe } from '../domain/probe.ts';
import type { ReleaseOutcome, ReleaseResult } from '../domain/release.ts';
import type { AuditEntry, AuditLog, AuditPlace } from './audit-log.ts';
import { clusterIdOf, releaseOptions, type ReleasePlan } from './plan.ts';
import { verifyRelease, type Verification } from './verify.ts';

export interface Operator {
  readonly user: string;
  readonly host: string;
}

export interface ExecuteOptions {
  readonly operator: Operator;
  readonly timeoutMs: number;
  readonly verifyMs: number;
}

export interface ReleaseReport {
  readonly outcome: ReleaseOutcome;
  readonly result: ReleaseResult;
  readonly verification: Verification | undefined;
  /** Of the outcome's line; undefined when it could not be written (the intent was). */
  readonly log: AuditPlace | undefined;
  readonly exitCode: ExitCode;
}

const exitOf: Readonly<Record<ReleaseOutcome, ExitCode>> = {
  released: exitCodes.ok,
  'taken-over-by': exitCodes.ok,
  refused: exitCodes.refused,
  'changed-hands': exitCodes.changed,
  'already-gone': exitCodes.changed,
  unknown: exitCodes.inconclusive,
  'came-back': exitCodes.inconclusive,
  'foreign-removed': exitCodes.violated,
};

/**
 * Executes a plan that no guard refuses.
 * @throws {GuardRefused} a guard refuses, or the server's role or identity changed since the plan
 * @throws {LockChanged} the lock is gone or another's by now; nothing was deleted
 */
export async function executeRelease(
  backend: Backend,
  plan: ReleasePlan,
  log: AuditLog,
  options: ExecuteOptions,
  signal: AbortSignal,
): Promise<ReleaseReport> {
  const [refusal] = plan.refusedBy;
  if (refusal !== undefined) throw refusedBy(refusal.name, refusal.text, refusal.remedy);
  await lookAgain(backend, plan, signal);
  const facts = auditFacts(plan, options.operator);
  await recordIntent(log, facts);
  signal.throwIfAborted();
  const how = releaseOptions(plan.request, options.timeoutMs);
  const result = await releaseOnce(backend, plan, how, signal);
  const verification = await verify(backend, plan, result, options.verifyMs, signal);
  const outcome = joinOutcome(result, verification);
  const place = await recordOutcome(log, {
    kind: 'outcome',
    lock: facts.lock,
    clusterId: facts.clusterId,
    outcome,
    reply: result.reply,
    fenceRaisedTo: result.fenceRaisedTo,
    verification,
  });
  return { outcome, result, verification, log: place, exitCode: exitOf[outcome] };
}

/** No record, no release (G20). */
async function recordIntent(log: AuditLog, facts: AuditFacts): Promise<void> {
  try {
    await log.append({ kind: 'intent', ...facts });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw refusedBy('audit-record', `the audit log cannot be written: ${reason}`, undefined);
  }
}

/** The release is done: a log that fails now is told in the report, not thrown. */
async function recordOutcome(log: AuditLog, entry: AuditEntry): Promise<AuditPlace | undefined> {
  try {
    return await log.append(entry);
  } catch {
    // Nothing is lost silently: the report says "not logged", and the intent is on disk.
    return undefined;
  }
}

/** The server may have changed its role, and the lock its owner, while a person was reading. */
async function lookAgain(backend: Backend, plan: ReleasePlan, signal: AbortSignal): Promise<void> {
  const probe = await backend.probe(signal);
  const difference = serverDifference(plan.probe, probe);
  if (difference !== undefined) {
    throw refusedBy('writable-side', difference, 'plan again: the roles changed since');
  }
  const now = await backend.inspect(plan.detail.ref, signal);
  const expected = plan.detail.identity?.expect;
  if (now?.identity?.expect === expected) return;
  const name = plan.detail.ref.name;
  const [code, what] =
    now?.identity === undefined
      ? ['lock-gone', `"${name}" is already gone`]
      : ['grant-changed', `"${name}" changed hands: ${expected ?? ''} → ${now.identity.expect}`];
  throw new LockChanged(what, { code, hint: 'nothing was deleted; plan again', definite: true });
}

function serverDifference(planned: Probe, now: Probe): string | undefined {
  if (clusterIdOf(planned) !== clusterIdOf(now)) {
    return `the server is another one: ${clusterIdOf(planned) ?? '?'} → ${clusterIdOf(now) ?? '?'}`;
  }
  const roles = [planned, now].map((one) =>
    one.server.role.kind === 'unknown' ? '?' : one.server.role.value,
  );
  if (roles[0] !== roles[1]) return `its role changed: ${roles.join(' → ')}`;
  return now.writable.can ? undefined : now.writable.reason;
}

/** What the backend throws before it wrote anything still needs its line in the log. */
async function releaseOnce(
  backend: Backend,
  plan: ReleasePlan,
  how: Parameters<Backend['release']>[1],
  signal: AbortSignal,
): Promise<ReleaseResult> {
  try {
    return await backend.release(plan.detail, how, signal);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const definite = error instanceof Error && 'definite' in error && error.definite === true;
    const base = { reply: reason, fenceRaisedTo: undefined, reason };
    return definite ? { ...base, outcome: 'refused' } : { ...base, outcome: 'unknown' };
  }
}

async function verify(
  backend: Backend,
  plan: ReleasePlan,
  result: ReleaseResult,
  verifyMs: number,
  signal: AbortSignal,
): Promise<Verification | undefined> {
  if (result.outcome !== 'released' && result.outcome !== 'unknown') return undefined;
  const holdOwner = plan.request.holdMs === undefined ? undefined : plan.request.holdOwner;
  try {
    return await verifyRelease(backend, plan.detail, holdOwner, verifyMs, signal);
  } catch (error) {
    // The release is done: an interrupted look must not lose its outcome.
    return { outcome: 'unknown', note: error instanceof Error ? error.message : String(error) };
  }
}

function joinOutcome(result: ReleaseResult, seen: Verification | undefined): ReleaseOutcome {
  if (result.outcome !== 'released') return result.outcome;
  if (seen?.outcome === 'came-back') return 'came-back';
  return seen?.outcome === 'taken-over' ? 'taken-over-by' : 'released';
}

type AuditFacts = ReturnType<typeof auditFacts>;

function auditFacts(plan: ReleasePlan, operator: Operator) {
  const { request, detail } = plan;
  return {
    lock: detail.ref.name,
    clusterId: clusterIdOf(plan.probe),
    ...operator,
    target: plan.display,
    convention: detail.recognition.convention,
    expect: detail.identity?.expect,
    holders: detail.holders,
    reason: request.reason,
    hold: request.holdMs,
    endSession: request.endSession,
    overrides: Object.fromEntries(request.overrides),
    guards: plan.guards.map(({ name, level, state, text }) => ({ name, level, state, text })),
  };
}

function refusedBy(name: string, text: string, remedy: string | undefined): GuardRefused {
  return new GuardRefused(`refused by ${name}: ${text}`, {
    code: 'guard-refused',
    definite: true,
    ...(remedy === undefined ? {} : { hint: remedy }),
  });
}
