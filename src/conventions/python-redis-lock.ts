/**
 * python-redis-lock: a string `lock:<name>`; its waiters sleep in BLPOP on the list
 * `lock-signal:<name>`, into which a release pushes one element. A signal list alone is no lock.
 * @see ionelmc/python-redis-lock@e448f12 src/redis_lock/__init__.py
 */
import type { Waiters } from '../domain/holder.ts';
import type { Confidence } from '../domain/lock.ts';
import { parseText, type Text } from '../domain/text.ts';
import type { Decoded, RedisConvention, RedisRecord, RedisSibling } from './convention.ts';
import { looksLikeData } from './owner-shape.ts';
import { stringLock } from './string-lock.ts';
import { tokenShape } from './token-shapes.ts';

const prefix = 'lock:';
const signalPrefix = 'lock-signal:';

const base = stringLock({
  id: 'python-redis-lock',
  title: 'python-redis-lock',
  matches(value, key) {
    if (!key.startsWith(prefix)) return undefined;
    if (tokenShape(value) === 'base64-18') return 'high';
    // The caller may choose the id: any word fits.
    return looksLikeData(value) ? undefined : 'low';
  },
});

export const pythonRedisLock: RedisConvention = {
  ...base,
  types: ['string', 'none'],
  matches: (record): Confidence | undefined =>
    record.type === 'none'
      ? signalOf(record) === undefined
        ? undefined
        : 'high'
      : base.matches(record),
  siblings: ({ key }) => [
    { key: signalKey(key), what: 'key' },
    { key: signalKey(key), what: 'blocked' },
  ],
  helperOf: (key) =>
    key.startsWith(signalPrefix)
      ? parseText(`${prefix}${key.slice(signalPrefix.length)}`)
      : undefined,
  decode(record): Decoded {
    return {
      ...base.decode(record),
      waiters: waitersOf(record),
      helpers: signalOf(record) === undefined ? [] : [signalKey(record.key)],
    };
  },
  release: (record, decoded) => ({
    ...base.release(record, decoded),
    push: [{ key: signalKey(record.key), value: '1', ttlMs: 1000 }],
    warnings: ['with auto-renewal its owner finds out at its next renewal, not before'],
  }),
};

function signalKey(key: Text): Text {
  const name = key.startsWith(prefix) ? key.slice(prefix.length) : key;
  return parseText(`${signalPrefix}${name}`);
}

function signalOf({ key, siblings }: RedisRecord): RedisSibling | undefined {
  const signal = siblings.get(signalKey(key));
  return signal?.type === 'list' ? signal : undefined;
}

/** The server tells how many clients sleep in BLPOP, and not on which list: only none is certain. */
function waitersOf({ key, siblings }: RedisRecord): Waiters {
  const blocked = siblings.get(signalKey(key))?.blocked;
  if (blocked === undefined) {
    return { kind: 'unknown', reason: 'waiters sleep in BLPOP; blocked clients were not counted' };
  }
  if (blocked.kind === 'unknown') return blocked;
  return blocked.value === 0
    ? { kind: 'count', count: 0, source: 'no client is blocked on a list' }
    : {
        kind: 'unknown',
        reason: `${blocked.value} client${blocked.value === 1 ? ' is' : 's are'} blocked on lists, and the server does not tell on which`,
      };
}
