/**
 * The semaphore of DistributedLock (.NET): a sorted set of handles (distributed-lock-mutex.ts), each
 * with the time at which its ticket ends. The key's own TTL is three times as long.
 * @see madelson/DistributedLock@3da3eaf RedisSemaphorePrimitive.cs
 */
import type { RedisConvention } from './convention.ts';
import { handlePlace, isHandle } from './distributed-lock-mutex.ts';
import {
  expiredNote,
  knownHolders,
  longestLease,
  memberGrant,
  scoredHolders,
} from './redis-members.ts';
import { heldForUnknown } from './string-lock.ts';

export const distributedLockSemaphore: RedisConvention = {
  id: 'distributed-lock-semaphore',
  title: 'DistributedLock semaphore',
  system: 'redis',
  types: ['zset'],
  matches({ members = [] }) {
    const [first] = members;
    return first !== undefined && isHandle(first.member) ? 'high' : undefined;
  },
  siblings: () => [],
  helperOf: () => undefined,
  decode(record) {
    const scored = scoredHolders(record, handlePlace);
    const held = scored.holders.length > 0;
    return {
      state: held ? (longestLease(scored.holders)?.kind === 'never' ? 'no-ttl' : 'held') : 'free',
      mode: 'semaphore',
      holders: knownHolders(scored),
      waiters: {
        kind: 'unknown',
        reason: 'waiters poll; how many tickets there are is not stored',
      },
      fence: { kind: 'none' },
      heldForMs: heldForUnknown,
      helpers: [],
      notes: expiredNote(scored.expired),
      weakOwner: false,
    };
  },
  grantOf: memberGrant,
  release: () => ({
    alsoDelete: [],
    fenceKey: undefined,
    publish: [],
    push: [],
    warnings: [],
    hold: { as: 'nothing', reason: 'a ticket of a semaphore cannot be replaced in one step' },
  }),
};
