/** Checks of the locks themselves, over a bounded sample of them. */
import { formatDuration } from '../../domain/duration.ts';
import type { Judgement } from '../../domain/audit-report.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import type { AuditFacts, Check } from '../check.ts';
import { judgeBy, notApplicable, reading } from '../readings.ts';

const longestTtlMs = 3_600_000;
const reads = ['SCAN with TTLs, as `fencepost ls` does; at most 1,000 locks or 5 s'];

export const immortalLocks: Check = {
  id: 'R01',
  title: 'TTL of locks',
  severity: 'high',
  reads,
  why: 'a lock without a TTL is never freed when its owner dies',
  fix: 'take locks by SET key token NX PX lease, in one command; `fencepost show NAME` looks at one',
  judge: (facts) =>
    judgeLocks(facts, 'every lock with a TTL', (lock) =>
      lock.state === 'no-ttl' ? 'no TTL' : undefined,
    ),
};

export const longTtl: Check = {
  id: 'R02',
  title: 'length of TTLs',
  severity: 'med',
  reads,
  why: 'after a crash nobody gets the lock until its TTL has run out',
  fix: 'a short lease that the owner renews',
  judge: (facts) =>
    judgeLocks(facts, `at most ${formatDuration(longestTtlMs)}`, ({ lease }) =>
      lease.kind === 'ttl' && lease.ttlMs > longestTtlMs
        ? `${formatDuration(lease.ttlMs)} left`
        : undefined,
    ),
};

/** Fails when `fault` finds one in any lock; a part of the locks proves nothing of the rest. */
function judgeLocks(
  facts: AuditFacts,
  wanted: string,
  fault: (lock: LockSnapshot) => string | undefined,
): Judgement {
  const words = reading(
    'SCAN',
    facts.locks,
    ({ locks, read }) => `locks ${locks.length}, keys ${read}`,
  );
  if (facts.locks.kind === 'unknown') return judgeBy([words], () => notApplicable(''));
  const { locks, complete } = facts.locks.value;
  const bad = locks.flatMap((lock) => {
    const text = fault(lock);
    return text === undefined ? [] : [`${lock.ref.name} (${text})`];
  });
  const [first] = bad;
  if (first !== undefined) {
    const more = bad.length > 1 ? ` and ${bad.length - 1} more` : '';
    return judgeBy([words], () => ({ ok: false, found: `${first}${more}`, wanted }));
  }
  if (locks.length === 0 && complete) return notApplicable('there is no lock at this moment');
  if (!complete) {
    return {
      state: 'unknown',
      reason: `not all keys could be read: ${locks.length} locks seen, all of them sound`,
      remedy: '`fencepost ls` reads all keys that this account may read',
      evidence: [],
    };
  }
  return judgeBy([words], () => ({ ok: true, found: `${locks.length} sound`, wanted }));
}
