/**
 * Guards: conditions that refuse a release. HARD ones cannot be overridden, a different action is
 * needed; SOFT ones need a recorded reason; INFO ones only say something. What could not be found
 * out counts like a soft refusal.
 */
import type { Liveness } from '../domain/liveness.ts';
import type { RenewalSample } from '../domain/lease.ts';
import type { LockDetail } from '../domain/lock.ts';
import type { Probe } from '../domain/probe.ts';
import type { ReleasePreview } from '../domain/release.ts';
import type { Text } from '../domain/text.ts';

export type GuardLevel = 'hard' | 'soft' | 'info';

export type GuardState = 'ok' | 'warn' | 'refused' | 'unknown';

export interface Guard {
  /** Kebab-case, as in `--override NAME=REASON`. */
  readonly name: string;
  readonly level: GuardLevel;
  readonly state: GuardState;
  /** What was seen, for people. */
  readonly text: string;
  /** What to do about it, when it is not ok. */
  readonly remedy?: string;
  /** Hard, but all that is missing is the operator's own word: the remedy completes the command. */
  readonly consent?: true;
}

/** What the caller asked for, as far as guards look at it. */
export interface ReleaseRequest {
  /** To be carried out, not only planned. */
  readonly execute: boolean;
  /** Token of the grant that the operator saw. */
  readonly expect: string | undefined;
  /** Somebody can be asked: the lock's name will be typed. */
  readonly interactive: boolean;
  /** `--confirm NAME`, where nobody can be asked. */
  readonly confirm: string | undefined;
  readonly reason: string | undefined;
  readonly holdMs: number | undefined;
  readonly endSession: boolean;
  /** Key for a floor that the resource reads, outside the lock's own parent or prefix. */
  readonly fenceFloor: Text | undefined;
  /** `--notify COMMAND`: to be told of the fence floor before anything is deleted. */
  readonly notify: string | undefined;
}

/** Everything the guards look at. */
export interface GuardInput {
  readonly probe: Probe;
  readonly detail: LockDetail;
  readonly sample: RenewalSample | undefined;
  readonly liveness: Liveness;
  readonly preview: ReleasePreview;
  /** The operator's own record could take the place of this one (`--hold`). */
  readonly holdPossible: boolean;
  readonly request: ReleaseRequest;
  /** How long a lease may have left before waiting for it is the better choice. */
  readonly soonMs: number;
  /** Last release of this lock by this user, in ms ago. */
  readonly lastReleaseAgoMs: number | undefined;
  /** Releases of any lock by this user in the last ten minutes. */
  readonly recentReleases: number;
  /** Why the audit record cannot be written, or undefined. */
  readonly auditProblem: string | undefined;
}

/** Whether this guard stands in the way unless it is overridden (or, hard, whatever is done). */
export function blocks(guard: Guard): boolean {
  return guard.level !== 'info' && (guard.state === 'refused' || guard.state === 'unknown');
}
