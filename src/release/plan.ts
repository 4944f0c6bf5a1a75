/** The plan of a release: everything is read, nothing is changed. */
import type { Backend } from '../backends/backend.ts';
import { LockChanged, UsageError } from '../domain/errors.ts';
import { judgeLiveness, type Liveness } from '../domain/liveness.ts';
import type { RenewalSample } from '../domain/lease.ts';
import type { LockDetail, LockRef } from '../domain/lock.ts';
import { valueOf } from '../domain/known.ts';
import type { Probe } from '../domain/probe.ts';
import type { OwnerToken } from '../domain/holder.ts';
import type { ReleaseOptions, ReleasePreview } from '../domain/release.ts';
import { stringToText } from '../domain/text.ts';
import type { Guard, ReleaseRequest } from './guard.ts';
import { judgeGuards } from './guards/all.ts';
import { quietMs } from './guards/operator.ts';
import { checkOverrides, standing, type Overrides } from './overrides.ts';

export interface PlanRequest extends ReleaseRequest {
  readonly ref: LockRef;
  /** How long to watch the lease, or `off`. */
  readonly observe: number | 'auto' | 'off';
  readonly overrides: Overrides;
  /** Owner token of the operator's own record, with `holdMs`. */
  readonly holdOwner: OwnerToken;
  /** A lease with less than this left is better waited for. */
  readonly soonMs: number;
}

/** What the audit log says: asked with the name that the server knows the lock by. */
export interface ReleaseMemory {
  /** Why the log cannot be written, or undefined. */
  readonly problem: string | undefined;
  /** How long ago this lock was released from here; undefined: not remembered. */
  lastReleaseAgoMs(lock: string, clusterId: string | undefined): number | undefined;
  /** How many locks were released from here in so many milliseconds. */
  releasesWithin(ms: number): number;
}

export interface ReleasePlan {
  readonly request: PlanRequest;
  readonly display: string;
  readonly probe: Probe;
  readonly detail: LockDetail;
  readonly sample: RenewalSample | undefined;
  readonly liveness: Liveness;
  readonly preview: ReleasePreview;
  readonly guards: readonly Guard[];
  /** Guards that refuse after the overrides; empty: it may be executed. */
  readonly refusedBy: readonly Guard[];
}

/**
 * Looks, watches, and judges the guards.
 * @throws {LockChanged} `already-gone` when nobody holds such a lock; `changed-hands` when it is not the
 *   grant that `expect` names: looking further would be about somebody else
 * @throws {UsageError} an override that means nothing
 */
export async function planRelease(
  backend: Backend,
  request: PlanRequest,
  memory: ReleaseMemory,
  signal: AbortSignal,
  onProgress?: (elapsedMs: number, totalMs: number) => void,
): Promise<ReleasePlan> {
  const probe = await backend.probe(signal);
  const detail = await inspectGrant(backend, request, signal);
  const preview = backend.preview(detail, releaseOptions(request, 0));
  const held = backend.preview(detail, {
    ...releaseOptions(request, 0),
    hold: { owner: request.holdOwner, ttlMs: 1 },
  });
  // What is out of the question anyway is told at once, not after a long look.
  const hopeless = !probe.writable.can || !preview.possible.can || memory.problem !== undefined;
  const sample = hopeless ? undefined : await observe(backend, detail, request, signal, onProgress);
  const liveness = judgeLiveness(detail.evidence, sample);
  const guards = judgeGuards({
    probe,
    detail,
    sample,
    liveness,
    preview,
    holdPossible: held.possible.can && probe.capabilities.hold.can,
    request,
    soonMs: request.soonMs,
    lastReleaseAgoMs: memory.lastReleaseAgoMs(detail.ref.name, clusterIdOf(probe)),
    recentReleases: memory.releasesWithin(quietMs),
    auditProblem: memory.problem,
  });
  checkOverrides(request.overrides, guards);
  return {
    request,
    display: backend.display,
    probe,
    detail,
    sample,
    liveness,
    preview,
    guards,
    refusedBy: standing(guards, request.overrides),
  };
}

async function inspectGrant(
  backend: Backend,
  request: PlanRequest,
  signal: AbortSignal,
): Promise<LockDetail> {
  const detail = await backend.inspect(request.ref, signal);
  if (detail === undefined || detail.state === 'free' || detail.state === 'orphan-waiters') {
    throw gone(backend, request, detail);
  }
  checkHolder(backend, request, detail);
  const seen = detail.identity?.expect;
  if (request.expect !== undefined && seen !== undefined && seen !== request.expect) {
    requireToken(request.expect, seen);
    throw changed(request, `the grant seen (${request.expect}) → ${grantWords(detail)}`);
  }
  return detail;
}

/** The holder that was named must have it, and the target must be able to take it alone. */
function checkHolder(backend: Backend, request: PlanRequest, detail: LockDetail): void {
  const { holder } = request.ref;
  if (holder === undefined) return;
  if (detail.ref.holder !== holder) {
    throw new UsageError(`${backend.display} tells holders by their own records, not by --holder`, {
      code: 'holder-not-named',
      hint: 'name the record of the holder instead, as `fencepost show` prints it',
      definite: true,
    });
  }
  const holders = valueOf(detail.holders) ?? [];
  if (!holders.some(({ owner }) => owner === holder)) throw gone(backend, request, detail);
}

/** A grant that ends while it is watched is another's matter from then on. */
async function observe(
  backend: Backend,
  detail: LockDetail,
  request: PlanRequest,
  signal: AbortSignal,
  onProgress?: (elapsedMs: number, totalMs: number) => void,
): Promise<RenewalSample | undefined> {
  if (request.observe === 'off') return undefined;
  const sample = await backend.sample(detail, request.observe, signal, onProgress);
  if (sample.outcome === 'gone') throw gone(backend, request, detail);
  if (sample.outcome === 'changed-hands') {
    throw changed(request, `${grantWords(detail)}: ${sample.note}`);
  }
  return sample;
}

/** What the backend is told, from what the operator asked for. */
export function releaseOptions(request: PlanRequest, timeoutMs: number): ReleaseOptions {
  const { holdMs, holdOwner, endSession, fenceFloor } = request;
  return {
    timeoutMs,
    endSession,
    ...(fenceFloor === undefined ? {} : { fenceFloor }),
    ...(holdMs === undefined ? {} : { hold: { owner: holdOwner, ttlMs: holdMs } }),
  };
}

export function clusterIdOf(probe: Probe): string | undefined {
  return probe.clusterId.kind === 'unknown' ? undefined : probe.clusterId.value;
}

/** `pod-1 fence 12 (…) → pod-2 fence 13 (…)`: how every change of hands is told. */
export function changeWords(before: LockDetail, after: LockDetail): string {
  return `${grantWords(before)} → ${grantWords(after)}`;
}

/** A grant in a few words: its owners, its fence where it has one, its token. */
function grantWords(lock: LockDetail): string {
  const owners = (valueOf(lock.holders) ?? []).map(({ owner, holds }) => {
    const name = owner === '' ? 'unnamed owner' : owner;
    return holds > 1 ? `${name} (${holds} holds)` : name;
  });
  const fence = lock.fence.kind === 'token' ? ` fence ${lock.fence.token.toString()}` : '';
  const who = owners.length === 0 ? 'unknown owner' : owners.join(', ');
  return `${who}${fence} (${lock.identity?.expect ?? 'no grant'})`;
}

function gone(
  backend: Backend,
  { ref, expect }: PlanRequest,
  detail: LockDetail | undefined,
): LockChanged {
  const never = detail === undefined && expect === undefined;
  const what = never
    ? `no such lock on ${backend.display}`
    : `already gone: ${ref.holder ?? 'nobody'} ${ref.holder === undefined ? 'holds' : 'does not hold'} it`;
  return new LockChanged(`"${ref.name}": ${what}`, {
    code: 'already-gone',
    hint: 'nothing was deleted; `fencepost ls` lists what is there',
    definite: true,
  });
}

/** A token of another form never named a grant here: a slip of the hand, not a change of hands. */
function requireToken(given: string, seen: string): void {
  const form = (token: string): string => {
    const [kind = '', ...parts] = token.split('.');
    return `${kind}.${parts.map((part) => (/^[0-9a-z]+$/.test(part) ? '#' : '?')).join('.')}`;
  };
  if (form(given) === form(seen)) return;
  throw new UsageError(`"${stringToText(given)}" is not an expect token of this target`, {
    code: 'bad-expect',
    hint: `\`fencepost show\` prints it; the grant that is there now is ${seen}`,
    definite: true,
  });
}

function changed({ ref }: PlanRequest, what: string): LockChanged {
  return new LockChanged(`"${ref.name}" changed hands: ${what}`, {
    code: 'changed-hands',
    hint: 'nothing was deleted; look at it again with `fencepost show`',
    definite: true,
  });
}
