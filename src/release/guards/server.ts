/** Guards about the server: is it the right one, the writable one, a healthy one, and may we write. */
import { formatDuration } from '../../domain/duration.ts';
import { valueOf } from '../../domain/known.ts';
import type { Guard, GuardInput } from '../guard.ts';

/** G1. Shown back, and compared again right before the write. */
export function rightCluster({ probe, detail }: GuardInput): Guard {
  const base = { name: 'right-cluster', level: 'hard' } as const;
  const id = probe.clusterId;
  // In a cluster the lock's own node, not the one that was probed.
  const { endpoint } = detail.server;
  if (id.kind === 'unknown') {
    return {
      name: 'right-cluster',
      level: 'soft',
      state: 'unknown',
      text: `${endpoint}: its identity is unknown, ${id.reason}`,
      remedy: id.remedy ?? 'check by hand that this is the server you mean',
    };
  }
  return { ...base, state: 'ok', text: `${endpoint}, id ${id.value}` };
}

/** G2. A replica or a member without a leader must not be written to. */
export function writableSide({ probe, detail }: GuardInput): Guard {
  const base = { name: 'writable-side', level: 'hard' } as const;
  if (detail.server.replicaOf !== undefined) {
    const { primary } = detail.server.replicaOf;
    return {
      ...base,
      state: 'refused',
      text: `this is a replica of ${primary}`,
      remedy: `release on the primary: --target with ${primary}`,
    };
  }
  if (!probe.writable.can) {
    return { ...base, state: 'refused', text: probe.writable.reason, ...remedyOf(probe.writable) };
  }
  const { role } = probe.server;
  return role.kind === 'unknown'
    ? {
        name: 'writable-side',
        level: 'soft',
        state: 'unknown',
        text: `role unknown: ${role.reason}`,
        remedy: role.remedy ?? 'make sure that this is the primary',
      }
    : { ...base, state: 'ok', text: `${role.value}: takes writes` };
}

/** G3. */
export function clusterHealthy({ probe }: GuardInput): Guard {
  const base = { name: 'cluster-healthy', level: 'soft' } as const;
  const health = probe.healthy;
  if (health.kind === 'unknown') {
    return {
      ...base,
      state: 'unknown',
      text: `health unknown: ${health.reason}`,
      ...remedyOf(health),
    };
  }
  return health.value.can
    ? { ...base, state: 'ok', text: 'no failover under way' }
    : { ...base, state: 'refused', text: health.value.reason, ...remedyOf(health.value) };
}

/** The account, as far as it can be known before trying. */
export function accountMayRelease({ probe, request }: GuardInput): Guard {
  const base = { name: 'account-may-release', level: 'hard' } as const;
  const wanted = [probe.capabilities.release];
  if (request.holdMs !== undefined) wanted.push(probe.capabilities.hold);
  if (request.endSession) wanted.push(probe.capabilities.endSession);
  for (const ability of wanted) {
    if (!ability.can) {
      return { ...base, state: 'refused', text: ability.reason, ...remedyOf(ability) };
    }
  }
  return { ...base, state: 'ok', text: 'this account may release' };
}

/** Beyond this a wall clock is worth a word; half of a round trip is the error of the comparison. */
const clockSlackMs = 2_000;

/** G19. Every deadline here is a monotonic one, or the server's own. */
export function clockUnused({ probe }: GuardInput): Guard {
  const base = { name: 'clock', level: 'info' } as const;
  const offsetMs = valueOf(probe.clockOffsetMs);
  if (offsetMs === undefined || Math.abs(offsetMs) < clockSlackMs) {
    return { ...base, state: 'ok', text: "this machine's clock decides nothing" };
  }
  const side = offsetMs > 0 ? 'behind' : 'ahead of';
  return {
    ...base,
    state: 'warn',
    text: `the clock of this machine is ${formatDuration(Math.abs(offsetMs))} ${side} the server's: no decision uses it, times in logs will differ`,
  };
}

function remedyOf(fact: { readonly remedy?: string }): { readonly remedy?: string } {
  return fact.remedy === undefined ? {} : { remedy: fact.remedy };
}
