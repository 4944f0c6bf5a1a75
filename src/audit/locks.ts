/** Judging the locks themselves, over the bounded sample that was listed. */
import type { Judgement } from '../domain/audit-report.ts';
import type { Known } from '../domain/known.ts';
import type { LockSnapshot } from '../domain/lock.ts';
import type { LockSample } from './check.ts';
import { judgeBy, notApplicable, reading } from './readings.ts';

/** What the sample is, for the `reads` of its checks. */
export const sampleReads = 'the locks, as `fencepost ls` lists them; at most 1,000 or 5 s';

/** Fails when `fault` finds one in any lock; a part of the locks proves nothing of the rest. */
export function judgeLocks(
  sample: Known<LockSample>,
  wanted: string,
  fault: (lock: LockSnapshot) => string | undefined,
): Judgement {
  const words = reading(
    'fencepost ls',
    sample,
    ({ locks, read }) => `locks ${locks.length}, keys ${read}`,
  );
  if (sample.kind === 'unknown') return judgeBy([words], () => notApplicable(''));
  const { locks, complete } = sample.value;
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
