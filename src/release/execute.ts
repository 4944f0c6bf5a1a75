/**
 * Carries a plan out, in this order: look again, intent on disk, the resource told of the floor, the
 * atomic release, a few seconds of verification, outcome on disk. Ctrl-C before the write touches nothing; after it the outcome
 * is still recorded.
 */
import type { Backend } from '../backends/backend.ts';
import {
  exitCodes,
  FencepostError,
  GuardRefused,
  Interrupted,
  type ExitCode,
} from '../domain/errors.ts';
import type { Probe } from '../domain/probe.ts';
import type { ReleaseOutcome, ReleaseResult } from '../domain/release.ts';
import { placeWord, type AuditEntry, type AuditLog, type AuditPlace } from './audit-log.ts';
import { floorNotice, notify, type Notified } from './notify.ts';
import { changeWords, clusterIdOf, releaseOptions, type ReleasePlan } from './plan.ts';
import { verifyRelease, type Verification } from './verify.ts';

export interface Operator {
  readonly user: string;
  readonly host: string;
}

export interface ExecuteOptions {
  readonly operator: Operator;
  readonly timeoutMs: number;
  readonly verifyMs: number;
  /** Deadline of the command that is told of the floor. */
  readonly notifyMs: number;
}

export interface ReleaseReport {
  readonly outcome: ReleaseOutcome;
  readonly result: ReleaseResult;
  /** With `--notify`: whether the resource heard of the floor. */
  readonly notified: Notified | undefined;
  /** Undefined when nothing was sent, or nothing deleted. */
  readonly verification: Verification | undefined;
  readonly log: LogResult;
  readonly exitCode: ExitCode;
}

/** Where the outcome was recorded. `not-begun`: refused before the intent was written. */
export type LogResult =
  | { readonly kind: 'line'; readonly place: AuditPlace }
  | { readonly kind: 'not-begun' }
  | { readonly kind: 'failed'; readonly reason: string };

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
 * Executes a plan that no guard refuses. Refusals and changes seen on the way are outcomes.
 * @throws {GuardRefused} a guard refuses
 * @throws {Interrupted} before the write: nothing was touched, and the log says so
 * @throws {TargetError | PermissionError} the server cannot be asked any more: nothing was sent
 */
export async function executeRelease(
  backend: Backend,
  plan: ReleasePlan,
  log: AuditLog,
  options: ExecuteOptions,
  signal: AbortSignal,
): Promise<ReleaseReport> {
  const [first] = plan.refusedBy;
  if (first !== undefined) throw refusedBy(first.name, first.text, first.remedy);
  const notBegun = await lookAgain(backend, plan, signal);
  if (notBegun !== undefined) return withoutAct(notBegun);
  const facts = auditFacts(plan, options.operator);
  const begun = await recordIntent(log, facts);
  if ('outcome' in begun) return withoutAct(begun);
  const { lock, clusterId } = facts;
  const intent = placeWord(begun);
  const record = (outcome: string, more: object): Promise<LogResult> =>
    recordOutcome(log, { kind: 'outcome', lock, clusterId, intent, outcome, ...more });
  let notified: Notified | undefined;
  let result: ReleaseResult;
  try {
    notified = await tellResource(plan, options, signal);
    result =
      notified?.told === false
        ? refusal(`the resource was not told: ${notified.reason}`, notToldRemedy)
        : await inWords(backend, plan, await releaseOnce(backend, plan, options, signal), signal);
  } catch (error) {
    await record('interrupted', { reply: 'nothing was sent', notified });
    throw error;
  }
  const verification = await verify(backend, plan, result, options.verifyMs, signal);
  const outcome = joinOutcome(result, verification);
  const logged = await record(outcome, { ...result, outcome, notified, verification });
  const exitCode = exitCodeOf(outcome, signal);
  return { outcome, result, notified, verification, log: logged, exitCode };
}

const notToldRemedy =
  'see to the command of --notify, or tell the resource by hand and leave --notify out';

/** Undefined: nobody asked for it. @throws {Interrupted} nothing was sent */
async function tellResource(
  plan: ReleasePlan,
  { notifyMs }: ExecuteOptions,
  signal: AbortSignal,
): Promise<Notified | undefined> {
  const { notify: command, reason } = plan.request;
  const about = { target: plan.display, clusterId: clusterIdOf(plan.probe), reason };
  const notice = command === undefined ? undefined : floorNotice(plan.detail, plan.preview, about);
  if (command === undefined || notice === undefined) return undefined;
  return notify(command, notice, notifyMs, signal);
}

function withoutAct(result: ReleaseResult): ReleaseReport {
  const { outcome } = result;
  const log = { kind: 'not-begun' } as const;
  const exitCode = exitOf[outcome];
  return { outcome, result, notified: undefined, verification: undefined, log, exitCode };
}

/** An interrupted look at the result is no success: what it would have shown is not known. */
function exitCodeOf(outcome: ReleaseOutcome, signal: AbortSignal): ExitCode {
  const code = exitOf[outcome];
  return signal.aborted && code === exitCodes.ok ? exitCodes.interrupted : code;
}

/** No record, no release (G20). A place: it is on the disk. */
async function recordIntent(log: AuditLog, facts: AuditFacts): Promise<AuditPlace | ReleaseResult> {
  try {
    return await log.append({ kind: 'intent', ...facts });
  } catch (error) {
    return refusal(
      `the audit log cannot be written: ${reasonOf(error)}`,
      'name another one: --audit-log FILE',
    );
  }
}

/** The release is done: a log that fails now is told in the report, not thrown. */
async function recordOutcome(log: AuditLog, entry: AuditEntry): Promise<LogResult> {
  try {
    return { kind: 'line', place: await log.append(entry) };
  } catch (error) {
    return { kind: 'failed', reason: reasonOf(error) };
  }
}

/** The server may have changed its role, and the lock its owner, while a person was reading. */
async function lookAgain(
  backend: Backend,
  plan: ReleasePlan,
  signal: AbortSignal,
): Promise<ReleaseResult | undefined> {
  const difference = serverDifference(plan.probe, await backend.probe(signal));
  if (difference !== undefined) return refusal(difference, 'plan again: the roles changed since');
  const now = await backend.inspect(plan.detail.ref, signal);
  if (now?.identity === undefined) return { ...nothingSent, outcome: 'already-gone' };
  if (now.identity.expect === plan.detail.identity?.expect) return undefined;
  const what = changeWords(plan.detail, now);
  return { ...nothingSent, outcome: 'changed-hands', now: what };
}

const nothingSent = { reply: 'nothing was sent', fenceRaisedTo: undefined };

function refusal(reason: string, remedy: string): ReleaseResult {
  return { ...nothingSent, outcome: 'refused', reason, remedy };
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

/**
 * Asks the backend once. Whatever it throws besides an interruption is an outcome, too.
 * @throws {Interrupted} nothing was sent
 */
async function releaseOnce(
  backend: Backend,
  plan: ReleasePlan,
  options: ExecuteOptions,
  signal: AbortSignal,
): Promise<ReleaseResult> {
  try {
    return await backend.release(
      plan.detail,
      releaseOptions(plan.request, options.timeoutMs),
      signal,
    );
  } catch (error) {
    if (error instanceof Interrupted) throw error;
    const reason = reasonOf(error);
    const base = { reply: reason, fenceRaisedTo: undefined, reason };
    const definite = error instanceof FencepostError && error.definite;
    return { ...base, outcome: definite ? 'refused' : 'unknown' };
  }
}

/**
 * A change that the server itself found, in the words of every other one: the grant of the plan, an
 * arrow, the grant that is there. A look that fails, or comes too late, leaves the server's words.
 */
async function inWords(
  backend: Backend,
  plan: ReleasePlan,
  result: ReleaseResult,
  signal: AbortSignal,
): Promise<ReleaseResult> {
  if (result.outcome !== 'changed-hands') return result;
  try {
    const now = await backend.inspect(plan.detail.ref, signal);
    const same = now?.identity?.expect === plan.detail.identity?.expect;
    if (now?.identity === undefined || same) return result;
    return { ...result, now: changeWords(plan.detail, now) };
  } catch (error) {
    if (!(error instanceof FencepostError)) throw error;
    return result;
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
    // The release is done: a look that fails must not lose its outcome.
    return { outcome: 'unknown', note: `could not look: ${reasonOf(error)}` };
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
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
    holder: detail.ref.holder,
    holders: detail.holders,
    reason: request.reason,
    hold: request.holdMs,
    endSession: request.endSession,
    fenceFloor: request.fenceFloor,
    // Only that it was asked for: a command line may hold a secret.
    notify: request.notify !== undefined,
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
