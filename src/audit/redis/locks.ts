/** Checks of Redis locks themselves. */
import { formatDuration } from '../../domain/duration.ts';
import type { RedisCheck } from '../check.ts';
import { judgeLocks, sampleReads } from '../locks.ts';

const longestTtlMs = 3_600_000;

export const immortalLocks: RedisCheck = {
  id: 'R01',
  title: 'TTL of locks',
  severity: 'high',
  reads: [sampleReads],
  why: 'a lock without a TTL is never freed when its owner dies',
  fix: 'take locks by SET key token NX PX lease, in one command; `fencepost show NAME` looks at one',
  judge: ({ locks }) =>
    judgeLocks(locks, 'every lock with a TTL', (lock) =>
      lock.state === 'no-ttl' ? 'no TTL' : undefined,
    ),
};

export const longTtl: RedisCheck = {
  id: 'R02',
  title: 'length of TTLs',
  severity: 'med',
  reads: [sampleReads],
  why: 'after a crash nobody gets the lock until its TTL has run out',
  fix: 'a short lease that the owner renews',
  judge: ({ locks }) =>
    judgeLocks(locks, `at most ${formatDuration(longestTtlMs)}`, ({ lease }) =>
      lease.kind === 'ttl' && lease.ttlMs > longestTtlMs
        ? `${formatDuration(lease.ttlMs)} left`
        : undefined,
    ),
};
