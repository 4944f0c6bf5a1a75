/** The plan of a release: everything is read, nothing is changed. */
import type { Backend } from '../backends/backend.ts';
import { LockChanged } from '../domain/errors.ts';
import { judgeLiveness, type Liveness } from '../domain/liveness.ts';
import type { RenewalSample } from '../domain/lease.ts';
import type { LockDetail, LockRef } from '../domain/lock.ts';
import type { Probe } from '../domain/probe.ts';
import type { OwnerToken } from '../domain/holder.ts';
import type { ReleaseOptions, ReleasePreview } from '../domain/release.ts';
import type { Guard, ReleaseRequest } from './guard.ts';
import { judgeGuards } from './guards/all.ts';
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
 * @throws {LockChanged} `lock-gone` when there is no such lock; `grant-changed` when it is not the
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
  const detail = await backend.inspect(request.ref, signal);
  if (detail === undefined) throw gone(request);
  const seen = detail.identity?.expect;
  if (request.expect !== undefined && seen !== undefined && seen !== request.expect) {
    throw changed(request, seen);
  }
  const sample = await observe(backend, detail, request, signal, onProgress);
  const liveness = judgeLiveness(detail.evidence, sample);
  const preview = backend.preview(detail, releaseOptions(request, 0));
  const guards = judgeGuards({
    probe,
    detail,
    sample,
    liveness,
    preview,
    request,
    soonMs: request.soonMs,
    lastReleaseAgoMs: memory.lastReleaseAgoMs(detail.ref.name, clusterIdOf(probe)),
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

async function observe(
  backend: Backend,
  detail: LockDetail,
  request: PlanRequest,
  signal: AbortSignal,
  onProgress?: (elapsedMs: number, totalMs: number) => void,
): Promise<RenewalSample | undefined> {
  // A replica or an empty lock is refused whatever a long look would show.
  if (request.observe === 'off' || detail.identity === undefined) return undefined;
  if (detail.server.replicaOf !== undefined) return undefined;
  return backend.sample(detail, request.observe, signal, onProgress);
}

/** What the backend is told, from what the operator asked for. */
export function releaseOptions(request: PlanRequest, timeoutMs: number): ReleaseOptions {
  const { holdMs, holdOwner, endSession } = request;
  return {
    timeoutMs,
    endSession,
    ...(holdMs === undefined ? {} : { hold: { owner: holdOwner, ttlMs: holdMs } }),
  };
}

export function clusterIdOf(probe: Probe): string | undefined {
  return probe.clusterId.kind === 'unknown' ? undefined : probe.clusterId.value;
}

function gone(request: PlanRequest): LockChanged {
  return new LockChanged(`"${request.ref.name}": no such lock`, {
    code: 'lock-gone',
    hint: 'nothing was deleted; `fencepost ls` shows what is there',
    definite: true,
  });
}

function changed(request: PlanRequest, seen: string): LockChanged {
  const was = request.expect ?? '';
  return new LockChanged(`"${request.ref.name}" changed hands: ${was} is now ${seen}`, {
    code: 'grant-changed',
    hint: 'nothing was deleted; look at it again with `fencepost show`',
    definite: true,
  });
}
