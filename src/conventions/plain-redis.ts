/**
 * The home-made lock: one string, `SET name owner NX PX ttl`, released by compare-and-delete. Any
 * string fits, so it never claims one by itself: the name or the caller does.
 */
import type { RedisConvention } from './convention.ts';
import { stringLock } from './string-lock.ts';

export const plainRedis: RedisConvention = {
  ...stringLock({
    id: 'plain',
    title: 'plain string',
    matches: () => 'low',
    warnings: ['a library whose renewal sets the key again may bring the lock back'],
  }),
  // Also one whose value is too big to be fetched.
  matches: ({ type }) => (type === 'string' ? 'low' : undefined),
};
