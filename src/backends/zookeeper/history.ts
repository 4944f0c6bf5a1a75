/** The past of a lock as far as ZooKeeper keeps one: its present contenders, and a count of what came and went. */
import type { LockHistory } from '../backend.ts';
import type { FenceRecord } from '../../domain/fence.ts';
import { known, unknown, valueOf, type Known } from '../../domain/known.ts';
import type { LockDetail } from '../../domain/lock.ts';
import { stringToText } from '../../domain/text.ts';

/** The holder first, then those that wait; nothing of those that went. */
export function presentContenders(inspect: () => Promise<LockDetail | undefined>): LockHistory {
  let past = '';
  const records = async function* (): AsyncGenerator<FenceRecord> {
    const lock = await inspect();
    if (lock === undefined) return;
    past = pastWords(lock);
    yield* contendersOf(lock);
  };
  return {
    records: records(),
    completeness: (): Known<string> =>
      unknown(`ZooKeeper keeps no past holders: only present contenders are known${past}`),
  };
}

/** Creations and deletions of children are counted together in the parent's cversion. */
function pastWords({ facts }: LockDetail): string {
  const changes = facts['parentCversion'];
  return changes === undefined ? '' : `; its parent's children changed ${changes} times`;
}

function* contendersOf(lock: LockDetail): Generator<FenceRecord> {
  for (const holder of valueOf(lock.holders) ?? []) {
    yield {
      fence: lock.fence,
      owner: known(holder.owner),
      ...(holder.record === undefined ? {} : { record: holder.record }),
      grantedAt: unknown('ZooKeeper does not record when a waiter became the holder'),
      ended: { how: 'holding' },
      source: 'present contenders',
    };
  }
  if (lock.waiters.kind !== 'exact') return;
  for (const waiter of lock.waiters.list) {
    yield {
      fence: { kind: 'unknown', reason: 'it has not been granted the lock' },
      owner: known(waiter.owner ?? waiter.record ?? stringToText('')),
      ...(waiter.record === undefined ? {} : { record: waiter.record }),
      grantedAt: unknown('it waits'),
      ended: { how: 'waiting' },
      source: 'present contenders',
    };
  }
}
