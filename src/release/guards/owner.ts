/** Guards about the owner: does it still live, and would the lease end by itself. */
import { formatDuration } from '../../domain/duration.ts';
import { valueOf } from '../../domain/known.ts';
import type { RenewalSample } from '../../domain/lease.ts';
import type { OwnerEvidence } from '../../domain/lock.ts';
import type { Guard, GuardInput } from '../guard.ts';

/** G7. */
export function expiresSoon({ detail, sample, soonMs }: GuardInput): Guard {
  const base = { name: 'expires-soon', level: 'soft' } as const;
  const { lease } = detail;
  const leftMs = lease.kind === 'ttl' ? leftAfter(lease.ttlMs, sample) : undefined;
  if (leftMs !== undefined && leftMs <= soonMs && sample?.outcome !== 'renewed') {
    return {
      ...base,
      state: 'refused',
      text: `frees itself in ${formatDuration(leftMs)}`,
      remedy: 'wait for it instead: the same command with --wait-expiry',
    };
  }
  if (leftMs !== undefined) {
    return { ...base, state: 'ok', text: `${formatDuration(leftMs)} left on the lease` };
  }
  if (lease.kind === 'unknown') {
    return { ...base, state: 'unknown', text: `lease unknown: ${lease.reason}` };
  }
  return {
    ...base,
    state: 'ok',
    text:
      lease.kind === 'session'
        ? 'lives as long as its session'
        : 'will not expire by itself: it has no lease',
  };
}

/** What was left when the lease was last looked at: the watching itself takes its time. */
function leftAfter(ttlMs: number, sample: RenewalSample | undefined): number {
  return sample?.observations.at(-1)?.ttlMs ?? ttlMs;
}

/** G8. Strong evidence of life; its absence proves death only over a window that is long enough. */
export function noRenewal({ sample }: GuardInput): Guard {
  const base = { name: 'no-renewal', level: 'soft' } as const;
  if (sample === undefined) {
    return {
      ...base,
      state: 'unknown',
      text: 'the lease was not observed',
      remedy: 'leave --observe at auto',
    };
  }
  const { note } = sample;
  switch (sample.outcome) {
    case 'renewed':
      return { ...base, state: 'refused', text: `its owner is alive: ${note}` };
    case 'not-renewed':
      return windowState(sample.windowMs, valueOf(sample.neededMs), note);
    case 'not-applicable':
      return { ...base, state: 'warn', text: note };
    case 'discarded':
      return { ...base, state: 'unknown', text: note, remedy: 'plan again' };
    case 'changed-hands':
    case 'gone':
      return { ...base, level: 'hard', state: 'refused', text: note, remedy: 'plan again' };
  }
}

function windowState(windowMs: number, neededMs: number | undefined, note: string): Guard {
  const base = { name: 'no-renewal', level: 'soft' } as const;
  if (neededMs === undefined || windowMs < neededMs) {
    const needed = neededMs === undefined ? 'a longer time' : formatDuration(neededMs);
    return {
      ...base,
      state: 'unknown',
      text: `watched for ${formatDuration(windowMs)} only, ${needed} is needed: ${note}`,
      remedy: `--observe ${neededMs === undefined ? '20s' : formatDuration(neededMs)}`,
    };
  }
  return { ...base, state: 'ok', text: note };
}

/** G9. One guard for all that points to a living owner besides renewal. */
export function ownerGone({ detail, liveness }: GuardInput): Guard {
  const base = { name: 'owner-connection', level: 'soft' } as const;
  const relevant = detail.evidence.filter((item) => item.name !== 'idle-time');
  const alive = relevant.find((item) => item.points === 'alive' || item.points === 'likely-alive');
  if (alive !== undefined) {
    return {
      ...base,
      state: 'refused',
      text: `${sentence(alive)} (liveness: ${liveness.verdict})`,
      remedy: 'a live connection does not prove live work: check the process itself',
    };
  }
  const dead = relevant.find((item) => item.points === 'dead' || item.points === 'likely-dead');
  if (dead !== undefined) return { ...base, state: 'ok', text: sentence(dead) };
  const hole = relevant.find((item) => item.finding.kind === 'unknown');
  const remedy = hole?.finding.kind === 'unknown' ? hole.finding.remedy : undefined;
  return {
    ...base,
    state: 'unknown',
    text: hole === undefined ? 'nothing tells whether the owner is connected' : sentence(hole),
    remedy: remedy ?? 'check the owner by hand, then override with what you saw',
  };
}

function sentence(item: OwnerEvidence): string {
  const { finding } = item;
  return finding.kind === 'unknown' ? finding.reason : `${finding.value} (${item.source})`;
}

/** G10. */
export function stuckThread({ request }: GuardInput): Guard {
  const base = { name: 'stuck-work', level: 'info' } as const;
  return request.reason === undefined
    ? {
        ...base,
        state: 'unknown',
        text: 'whether its work is stuck cannot be seen from here',
        remedy: 'say why you release: --reason "…"',
      }
    : { ...base, state: 'ok', text: `reason given: ${request.reason}` };
}
