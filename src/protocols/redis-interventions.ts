/** What an operator can do to a Redis lock past its holder: delete its key. */
import { fencedFields, fencedKeys } from '../domain/fenced-layout.ts';
import { textToBytes } from '../domain/text.ts';
import { openRedisLink } from './open-redis-link.ts';
import type { Intervention } from './protocol.ts';
import { items } from './redis-link.ts';
import { read } from './redis-observer.ts';

/** Leaves no release in the history: to the protocol it is a key that has gone. */
const removeIfOwned = `-- fencepost:intervene
-- KEYS: lock. ARGV: owner, field of the owner in a hash or ''. Returns {} when it is not the
-- owner's, else {pttl before, keys deleted, keys left}.
local owner
if ARGV[2] == '' then owner = redis.call('GET', KEYS[1])
else owner = redis.call('HGET', KEYS[1], ARGV[2]) end
if owner ~= ARGV[1] then return {} end
local ttl = redis.call('PTTL', KEYS[1])
return {ttl, redis.call('DEL', KEYS[1]), redis.call('EXISTS', KEYS[1])}`;

function removeKey(keyOf: (lock: string) => string, field: string): Intervention {
  return async (context, lock, owner) => {
    const link = await openRedisLink(context);
    try {
      const key = keyOf(lock);
      const asked = link.send('EVAL', removeIfOwned, 1, key, textToBytes(owner), field);
      const [ttlMs, deleted, left] = items(await read(asked, `key ${key}`));
      if (deleted === undefined) return undefined;
      return {
        fact: `DEL answered ${String(deleted)} with ${String(ttlMs)} ms left, EXISTS then ${String(left)}`,
        proves: 'the key was removed before its time',
        holds: deleted === 1n && left === 0n && typeof ttlMs === 'bigint' && ttlMs > 0n,
      };
    } finally {
      link.close();
    }
  };
}

/** Of the lock that is a string. */
export const removeString = removeKey((lock) => lock, '');

/** Of the fenced lock: its counter and history stay. */
export const removeFenced = removeKey((lock) => fencedKeys(lock).lock, fencedFields.owner);
