/** Guards about the operator and the record of what is done. */
import { formatDuration } from '../../domain/duration.ts';
import { valueOf } from '../../domain/known.ts';
import type { LockDetail } from '../../domain/lock.ts';
import type { ReleasePreview } from '../../domain/release.ts';
import type { Text } from '../../domain/text.ts';
import type { Guard, GuardInput, ReleaseRequest } from '../guard.ts';
import { floorAfter } from '../notify.ts';

/** For so long a release is remembered: by `not-again`, and by the count of `not-many`. */
export const quietMs = 10 * 60_000;
/** So many in that time are no longer one stuck lock. */
const many = 5;

/** G14. Whether the resource refuses older tokens cannot be seen from here. */
export function fenceRaised({ detail, preview, request }: GuardInput): Guard {
  const base = { name: 'fence', level: 'soft' } as const;
  if (request.fenceFloor !== undefined) return floorWritten(request.fenceFloor, detail, preview);
  if (preview.raisesFence !== undefined) {
    const { from, to, record } = preview.raisesFence;
    return {
      ...base,
      state: 'ok',
      text: `${record} goes from ${from.toString()} to ${to.toString()}; it fences only where the resource refuses smaller tokens`,
    };
  }
  return { name: 'fence', level: 'info', state: 'warn', text: nothingRaised(detail, request) };
}

function nothingRaised({ fence }: LockDetail, { notify }: ReleaseRequest): string {
  if (fence.kind === 'none') {
    return 'no fence, nothing will be raised: a paused owner can still write';
  }
  const until =
    'nothing is raised now: the next grant has a greater token, but a paused owner can write until the resource hears of it';
  return notify === undefined ? `${until} (--notify COMMAND tells it)` : until;
}

/** G14, where the resource has an ear of its own. */
export function resourceTold({ detail, preview, request }: GuardInput): Guard | undefined {
  if (request.notify === undefined) return undefined;
  const base = { name: 'notify', level: 'hard' } as const;
  const floor = floorAfter(detail, preview);
  if (floor === undefined) {
    const why = detail.fence.kind === 'unknown' ? `its fence is unknown` : 'this lock has no fence';
    return {
      ...base,
      state: 'refused',
      text: `${why}: there is no floor to tell a resource of`,
      remedy: 'leave --notify out',
    };
  }
  if (detail.mode !== 'exclusive' && (valueOf(detail.holders) ?? []).length > 1) {
    return {
      ...base,
      state: 'refused',
      text: 'others hold it, too: a floor would fence them as well',
      remedy: 'leave --notify out',
    };
  }
  return {
    ...base,
    state: 'ok',
    text: `your command hears of floor ${floor.toString()} first; if it fails, nothing is deleted`,
  };
}

/** A floor that was asked for is written in the step that deletes, or nothing is done. */
function floorWritten(key: Text, { ref }: LockDetail, preview: ReleasePreview): Guard {
  const base = { name: 'fence', level: 'hard' } as const;
  if (key === ref.name || key.startsWith(`${ref.name}/`)) {
    return {
      ...base,
      state: 'refused',
      text: `a fence floor at ${key} would lie under the lock itself, where its contenders would take it for one of them`,
      remedy: 'name a key that belongs to the resource',
    };
  }
  const floor = preview.fenceFloor;
  if (floor === undefined) {
    return {
      ...base,
      state: 'refused',
      text: `this target cannot write a fence floor (${key})`,
      remedy: 'leave --fence-floor out and tell the resource yourself',
    };
  }
  if (!floor.can) {
    const { reason: text, remedy } = floor;
    return { ...base, state: 'refused', text, ...(remedy === undefined ? {} : { remedy }) };
  }
  return {
    ...base,
    state: 'ok',
    text: `floor ${floor.record} will be ${floor.atLeast.toString()} or more; it fences only where the resource reads it`,
  };
}

/** G15. */
export function ownerAsked({ request }: GuardInput): Guard {
  const base = { name: 'owner-asked', level: 'info' } as const;
  if (request.endSession) {
    return { ...base, state: 'ok', text: 'the end of its session tells the owner afterwards' };
  }
  return {
    ...base,
    state: 'warn',
    text: 'the owner is not told: ask it to let go first, if it has a way to hear',
  };
}

/** Ending a session cannot be made conditional: whatever the owner takes meanwhile falls, too. */
export function sessionEnds({ request }: GuardInput): Guard | undefined {
  if (!request.endSession) return undefined;
  return {
    name: 'session-may-hold-newer-grant',
    level: 'soft',
    state: 'refused',
    text: 'ending the session is not atomic: a lock that the owner takes meanwhile falls with it',
    remedy: 'leave --end-session out, or make sure that the owner takes nothing new',
  };
}

/** G16. */
export function notAgain({ lastReleaseAgoMs }: GuardInput): Guard {
  const base = { name: 'not-again', level: 'soft' } as const;
  return lastReleaseAgoMs !== undefined && lastReleaseAgoMs < quietMs
    ? {
        ...base,
        state: 'refused',
        text: `this lock was released ${formatDuration(lastReleaseAgoMs)} ago already`,
        remedy: 'find out why it is stuck again before you release it again',
      }
    : { ...base, state: 'ok', text: 'not released in the last 10 minutes' };
}

/** G16. A whole series of releases is an outage, and wants another remedy. */
export function notMany({ recentReleases }: GuardInput): Guard {
  const base = { name: 'not-many', level: 'soft' } as const;
  return recentReleases >= many
    ? {
        ...base,
        state: 'refused',
        text: `${recentReleases} locks were released from here in the last 10 minutes`,
        remedy: 'find out what they have in common before you break more of them',
      }
    : { ...base, state: 'ok', text: 'few releases from here lately' };
}

/** G18. */
export function nameConfirmed({ request, detail }: GuardInput): Guard {
  const base = { name: 'name-confirmed', level: 'hard' } as const;
  const { name } = detail.ref;
  if (request.confirm !== undefined) {
    return request.confirm === name
      ? { ...base, state: 'ok', text: 'name confirmed' }
      : {
          ...base,
          state: 'refused',
          text: `--confirm names "${request.confirm}", the lock is "${name}"`,
          remedy: 'give the exact name',
        };
  }
  if (request.interactive) return { ...base, state: 'ok', text: 'its name will be asked for' };
  const remedy = 'add --confirm with the exact name';
  // Consent belongs to the act: a plan without it is still a plan.
  return request.execute
    ? {
        ...base,
        state: 'refused',
        consent: true,
        text: 'without a terminal the name must be confirmed',
        remedy,
      }
    : { ...base, state: 'warn', text: 'executing without a terminal needs --confirm', remedy };
}

/** G20. */
export function auditWritable({ auditProblem }: GuardInput): Guard {
  const base = { name: 'audit-record', level: 'hard' } as const;
  return auditProblem === undefined
    ? { ...base, state: 'ok', text: 'the audit log can be written' }
    : {
        ...base,
        state: 'refused',
        text: `the audit log cannot be written: ${auditProblem}`,
        remedy: 'name another one: --audit-log FILE',
      };
}
