/** Reads the facts once, has every chosen check judge them, and says what follows. */
import type { Backend } from '../backends/backend.ts';
import {
  severities,
  type AuditReport,
  type AuditResult,
  type Severity,
} from '../domain/audit-report.ts';
import { FencepostError, Interrupted, UsageError } from '../domain/errors.ts';
import { defaultLockPatterns } from '../domain/glob.ts';
import { known, unknown, valueOf, type Known } from '../domain/known.ts';
import type { LockSnapshot } from '../domain/lock.ts';
import type { AuditFacts, Limits, LockSample } from './check.ts';
import type { RegisteredCheck } from './registry.ts';

/** Locks that are looked at, and how long keys are read to find them: an audit stays cheap. */
const sampledLocks = 1000;
const sampleMs = 5000;

export interface AuditPlan {
  readonly checks: readonly RegisteredCheck[];
  readonly limits: Limits;
  readonly failOn: Severity;
  /** Ids whose unknown is no reason for exit 3. */
  readonly allowUnknown: ReadonlySet<string>;
}

/**
 * Audits one target.
 * @throws {UsageError} `audit-target`: a kind of target for which there are no checks
 * @throws {TargetError} unreachable
 */
export async function auditTarget(
  backend: Backend,
  plan: AuditPlan,
  signal: AbortSignal,
): Promise<AuditReport> {
  if (backend.auditFacts === undefined) throw notAudited(backend.display);
  const locks = await sampleLocks(backend, signal);
  const found = await backend.auditFacts(valueOf(locks)?.locks ?? [], signal);
  if (found.kind === 'redis') {
    const mode = valueOf(found.info)?.get('redis_mode') ?? 'standalone';
    if (mode !== 'standalone') throw notAudited(`${backend.display} (${mode} mode)`);
  }
  const results = judgeAll({ server: found, locks }, plan);
  if (results.length === 0) throw nothingToJudge(backend.display, plan.checks);
  const { server, at } = found;
  const verdict = verdictOf(results, plan.failOn);
  return { target: backend.display, server, at, failOn: plan.failOn, results, verdict };
}

/** Every check of this kind of service over the same facts, in their order. */
export function judgeAll(facts: AuditFacts, plan: AuditPlan): readonly AuditResult[] {
  return plan.checks.flatMap((check) => {
    const judgement = check.judge(facts, plan.limits);
    if (judgement === undefined) return [];
    const { id, title, severity, why, fix } = check;
    const unknownAllowed = plan.allowUnknown.has(id);
    return [{ id, title, severity, why, fix, judgement, unknownAllowed }];
  });
}

/** A failure goes before what is unknown; both count from `failOn` upward. */
export function verdictOf(
  results: readonly AuditResult[],
  failOn: Severity,
): AuditReport['verdict'] {
  const counted = results.filter(
    ({ severity }) => severities.indexOf(severity) >= severities.indexOf(failOn),
  );
  if (counted.some(({ judgement }) => judgement.state === 'fail')) return 'failed';
  const open = counted.some(
    ({ judgement, unknownAllowed }) => judgement.state === 'unknown' && !unknownAllowed,
  );
  return open ? 'unknown' : 'passed';
}

async function sampleLocks(backend: Backend, signal: AbortSignal): Promise<Known<LockSample>> {
  const query = {
    pattern: undefined,
    lockPatterns: defaultLockPatterns,
    all: false,
    conventions: undefined,
    ratePerSecond: undefined,
  };
  const within = AbortSignal.any([signal, AbortSignal.timeout(sampleMs)]);
  const { locks: stream, tally } = backend.list(query, within);
  const locks: LockSnapshot[] = [];
  let complete = true;
  try {
    for await (const lock of stream) {
      locks.push(lock);
      if (locks.length < sampledLocks) continue;
      complete = false;
      break;
    }
  } catch (error) {
    if (!(error instanceof FencepostError) || signal.aborted) throw error;
    if (!(error instanceof Interrupted)) return unknown(error.message, error.hint);
    // Our own time limit: what was found until then is a sample.
    complete = false;
  }
  return known({ locks, read: tally.read, complete: complete && tally.hidden === 0 });
}

function nothingToJudge(target: string, checks: readonly RegisteredCheck[]): UsageError {
  const kinds = new Set(checks.flatMap((check) => check.kinds));
  return new UsageError(
    `the checks that were named are about ${[...kinds].join(' and ')}, not about ${target}`,
    {
      code: 'no-checks',
      hint: '`fencepost audit --list` says which check is for what',
      definite: true,
    },
  );
}

function notAudited(target: string): UsageError {
  return new UsageError(
    `audit knows one Redis server (with its replicas), and etcd, only so far: not ${target}`,
    {
      code: 'audit-target',
      hint: 'name one server: --target redis://HOST:PORT',
      definite: true,
    },
  );
}
