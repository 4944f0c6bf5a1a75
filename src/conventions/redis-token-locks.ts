/**
 * Libraries of the string family (string-lock.ts) that are told by the shape of their token, and
 * some by their key: one table. Where the shape is all there is, several libraries fit, and each of
 * them is a candidate.
 */
import type { Confidence } from '../domain/lock.ts';
import { parseText, type Text } from '../domain/text.ts';
import type { RedisConvention } from './convention.ts';
import { oneOfSeveral, recreates, stringLock, type StringLayout } from './string-lock.ts';
import { machineOf, madeAtMs } from './time-uuid.ts';
import { beginsWithToken, tokenShape, type TokenShape } from './token-shapes.ts';

/** A key that starts with `prefix` and goes on, with a value of this shape. */
function shaped(shape: TokenShape, sure: Confidence, prefix = ''): StringLayout['matches'] {
  return (value, key) =>
    tokenShape(value) === shape && key.startsWith(prefix) && key.length > prefix.length
      ? sure
      : undefined;
}

/** @see samcook/RedLock.net@dcfe373 RedLock.cs */
const redlockNet = stringLock({
  id: 'redlock-net',
  title: 'RedLock.net',
  matches: shaped('uuid', 'medium', 'redlock:'),
  warnings: [recreates, oneOfSeveral],
});

/** @see brainix/pottery@e2f4042 redlock.py */
const pottery = stringLock({
  id: 'pottery',
  title: 'pottery Redlock',
  matches: shaped('uuid', 'medium', 'redlock:'),
  warnings: [oneOfSeveral],
});

/** @see marcoCasamento/Hangfire.Redis.StackExchange@da8e39a RedisLock.cs */
const hangfire = stringLock({
  id: 'hangfire',
  title: 'Hangfire lock',
  matches: shaped('uuid', 'high', '{hangfire}:'),
  shared: 'is the same for all threads of its process',
});

/** A UUID names no library: this one claims it, the next three are its candidates. */
const uuidString = stringLock({
  id: 'uuid-string',
  title: 'uuid string lock',
  matches: shaped('uuid', 'low'),
  warnings: ['which library wrote it is not known: its renewal may set a deleted key again'],
});

/**
 * The registry's waiters of the pub/sub type PSUBSCRIBE `<registry>-channel:*`; the spin type polls.
 * @see spring-projects/spring-integration@f369e89 RedisLockRegistry.java
 */
const springIntegration: RedisConvention = {
  ...stringLock({
    id: 'spring-integration',
    title: 'Spring Integration lock',
    matches: (value, key) =>
      key.indexOf(':') > 0 && tokenShape(value) === 'uuid' ? 'low' : undefined,
    shared: 'is the same for all threads of its registry',
    waiters: {
      hidden: 'waiters listen by a pattern, and the server does not count those per lock',
    },
  }),
  release: ({ key }) => ({
    alsoDelete: [],
    fenceKey: undefined,
    publish: registriesIn(key).map((registry) => ({
      channel: parseText(`${registry}-channel:${key}`),
      message: key,
    })),
    push: [],
    warnings: [],
    hold: { as: 'string' },
  }),
};

/** The registry's own key may hold colons: every split of `<registry>:<lock>`, the shortest first. */
function registriesIn(key: Text): string[] {
  const ends = [...key.matchAll(/:/g)].map(({ index }) => index).filter((at) => at > 0);
  return ends.slice(0, 4).map((at) => key.slice(0, at));
}

/** @see leandromoreira/redlock-rb@f176e57 lib/redlock/client.rb */
const redlockRb = stringLock({
  id: 'redlock-rb',
  title: 'redlock-rb lock',
  matches: shaped('uuid', 'low'),
  warnings: [recreates, oneOfSeveral],
});

/** @see joanvila/aioredlock@685d1b5 aioredlock/redis.py */
const aioredlock = stringLock({
  id: 'aioredlock',
  title: 'aioredlock lock',
  matches: shaped('uuid', 'low'),
  warnings: [recreates, oneOfSeveral],
});

/** redis-py makes the token, a time-based UUID, when it acquires. */
const timeToken = {
  place: machineOf,
  grantedAtMs: madeAtMs,
} as const satisfies Partial<StringLayout>;

/** The double colon is real: prefix `redbeat:` and `:lock`. @see sibson/redbeat@a7fd9e9 schedulers.py */
const redbeat = stringLock({
  id: 'redbeat',
  title: 'redbeat scheduler lock',
  matches: (value, key) =>
    key.endsWith('::lock') && tokenShape(value) === 'uuid1-hex'
      ? key === 'redbeat::lock'
        ? 'high'
        : 'medium'
      : undefined,
  ...timeToken,
});

/** @see cameronmaske/celery-once@4f68b6b celery_once/backends/redis.py */
const celeryOnce = stringLock({
  id: 'celery-once',
  title: 'celery-once lock',
  matches: shaped('uuid1-hex', 'medium', 'qo_'),
  ...timeToken,
  warnings: ['its own clear deletes the key whoever holds it: the lock may go without its holder'],
});

/** @see redis/redis-py@34817ce redis/lock.py */
const redisPy = stringLock({
  id: 'redis-py',
  title: 'redis-py lock',
  matches: shaped('uuid1-hex', 'medium'),
  ...timeToken,
});

/** One lock may be several keys with one value. @see mike-marcacci/node-redlock@afe5cf9 src/index.ts */
const nodeRedlock = stringLock({
  id: 'node-redlock',
  title: 'node-redlock lock',
  matches: shaped('hex-32', 'low'),
  warnings: [
    oneOfSeveral,
    'one lock of this library may be several keys with the same value: only this key is released',
  ],
});

/** @see go-redsync/redsync@5560bd2 mutex.go */
const redsync = stringLock({
  id: 'redsync',
  title: 'redsync mutex',
  matches: shaped('base64-16', 'medium'),
  warnings: [
    'if it was made with touch-on-extend, its renewal sets a deleted key again',
    oneOfSeveral,
  ],
});

/** 22 characters of a token, then free metadata. @see bsm/redislock@76760bd redislock.go */
const bsmRedislock = stringLock({
  id: 'bsm-redislock',
  title: 'bsm/redislock lock',
  matches(value) {
    if (!beginsWithToken(value)) return undefined;
    // More of the same alphabet may be any longer token: metadata of another kind tells.
    return value.length === 22 || /[^A-Za-z0-9_.+/=-]/.test(value) ? 'medium' : 'low';
  },
});

/** Of two that are equally sure the first is named. */
export const redisTokenLocks: readonly RedisConvention[] = [
  hangfire,
  redlockNet,
  pottery,
  redbeat,
  celeryOnce,
  redisPy,
  redsync,
  nodeRedlock,
  uuidString,
  springIntegration,
  redlockRb,
  aioredlock,
  bsmRedislock,
];
