/** Checks of the locks and of the leases that they hang on. */
import { formatDuration } from '../../domain/duration.ts';
import { valueOf } from '../../domain/known.ts';
import type { Lease } from '../../domain/lease.ts';
import type { EtcdCheck } from '../check.ts';
import { judgeLocks, sampleReads } from '../locks.ts';
import { judgeBy, reading } from '../readings.ts';

export const immortalKeys: EtcdCheck = {
  id: 'E07',
  title: 'leases of locks',
  severity: 'high',
  reads: [sampleReads],
  why: 'a lock key without a lease stays when its owner dies; a plain put on a lock detaches it',
  fix: 'put with the lease (--lease, or --ignore-lease when only the value changes)',
  judge: ({ locks }) =>
    judgeLocks(locks, 'every lock on a lease', ({ state }) =>
      state === 'no-ttl' ? 'no lease' : undefined,
    ),
};

const [shortestMs, longestMs, defaultMs] = [5000, 300_000, 60_000];

export const leaseLength: EtcdCheck = {
  id: 'E08',
  title: 'length of leases',
  severity: 'high',
  reads: [sampleReads, 'lease timetolive of each'],
  why: 'a short lease is lost at the first delay; after a crash a long one keeps the lock from everybody',
  fix: 'grant a lease of 5 s to 5 min yourself, and keep it alive',
  judge: ({ locks }) =>
    judgeLocks(
      locks,
      `${formatDuration(shortestMs)} to ${formatDuration(longestMs)}, renewed`,
      ({ lease }) => lengthFault(lease),
    ),
};

function lengthFault(lease: Lease): string | undefined {
  if (lease.kind !== 'ttl') return undefined;
  const grantedMs = valueOf(lease.grantedMs);
  if (grantedMs === undefined) return undefined;
  if (grantedMs < shortestMs || grantedMs > longestMs)
    return `granted ${formatDuration(grantedMs)}`;
  // Clients renew every third of a lease: one that has lost two thirds is not kept alive.
  if (grantedMs === defaultMs && lease.ttlMs < grantedMs / 3) {
    return `the default of ${formatDuration(grantedMs)}, not renewed for ${formatDuration(grantedMs - lease.ttlMs)}`;
  }
  return undefined;
}

export const sharedLeases: EtcdCheck = {
  id: 'E09',
  title: 'leases with one lock each',
  severity: 'med',
  reads: [sampleReads, 'lease timetolive --keys'],
  why: 'revoking a lease takes every key on it: breaking one lock would break the others',
  fix: 'a lease, or session, for each lock',
  judge: ({ server, locks }) => {
    const keys = reading('lease timetolive --keys', server.leaseKeys, (of) => `${of.size} leases`);
    const wanted = 'a lease for each lock';
    const judged = judgeLocks(locks, wanted, ({ lease }) => {
      const id = lease.kind === 'ttl' ? lease.id : undefined;
      const count = id === undefined ? 0 : (valueOf(server.leaseKeys)?.get(id)?.length ?? 0);
      return id !== undefined && count > 1 ? `lease ${id} has ${count} keys` : undefined;
    });
    if (judged.state !== 'pass') return judged;
    return judgeBy([keys], () => ({ ok: true, found: judged.found, wanted }));
  },
};
