/**
 * Redisson's RSemaphore and RCountDownLatch: a bare number. Nothing tells such a key from any other
 * counter, so neither is ever recognised: only the caller's word makes it one.
 * @see redisson/redisson@66863978 RedissonSemaphore, RedissonCountDownLatch
 */
import { unknown } from '../domain/known.ts';
import type { LockNote } from '../domain/lock.ts';
import { parseText, type Text } from '../domain/text.ts';
import type { Decoded, RedisConvention, RedisRecord, RedisRelease } from './convention.ts';
import { subscribedWaiters } from './redis-members.ts';
import { prefixed } from './redisson-names.ts';
import { heldForUnknown, weakNote } from './string-lock.ts';

const semaphoreChannel = (name: Text): Text => prefixed('redisson_sc', name);
/** Always with braces. */
const latchChannel = (name: Text): Text => parseText(`redisson_countdownlatch__channel__{${name}}`);

export const redissonSemaphore: RedisConvention = {
  id: 'redisson-semaphore',
  title: 'Redisson semaphore',
  system: 'redis',
  types: ['string'],
  matches: () => undefined,
  siblings: ({ key }) => [{ key: semaphoreChannel(key), what: 'channel' }],
  helperOf: () => undefined,
  decode(record) {
    const free = countIn(record);
    return {
      ...counter(record, semaphoreChannel(record.key)),
      mode: 'semaphore',
      state: free === 0 ? 'held' : 'unknown',
      holders: unknown('free permits are counted, and nobody records who has the others'),
      notes: [
        {
          code: 'permits',
          severity: 'info',
          text: free === undefined ? 'it holds no number' : `${free} permits are free`,
        },
      ],
      weakOwner: false,
    };
  },
  release: () => ({
    ...noRelease,
    forbidden: 'who holds a permit is not recorded: there is no grant that could be taken back',
  }),
};

export const redissonLatch: RedisConvention = {
  id: 'redisson-latch',
  title: 'Redisson count-down latch',
  system: 'redis',
  types: ['string'],
  matches: () => undefined,
  siblings: ({ key }) => [{ key: latchChannel(key), what: 'channel' }],
  helperOf: () => undefined,
  decode(record) {
    const left = countIn(record);
    return {
      ...counter(record, latchChannel(record.key)),
      mode: 'latch',
      state: record.ttlMs === undefined ? 'no-ttl' : 'held',
      holders: unknown(`a latch has no holder: it opens after ${left ?? '?'} more count-downs`),
      notes: [weakNote('is a count')],
      weakOwner: true,
    };
  },
  release: ({ key }) => ({
    ...noRelease,
    publish: [{ channel: latchChannel(key), message: '0', sharded: true }],
    warnings: ['this opens the latch: everybody who waits goes on, whatever was still to be done'],
  }),
};

function countIn({ value }: RedisRecord): number | undefined {
  return value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}

function counter(
  record: RedisRecord,
  channel: Text,
): Pick<Decoded, 'waiters' | 'fence' | 'heldForMs' | 'helpers'> & { notes: LockNote[] } {
  return {
    waiters: subscribedWaiters(record, channel),
    fence: { kind: 'none' },
    heldForMs: heldForUnknown,
    helpers: [],
    notes: [],
  };
}

const noRelease: RedisRelease = {
  alsoDelete: [],
  fenceKey: undefined,
  publish: [],
  push: [],
  warnings: [],
  hold: { as: 'nothing', reason: 'a counter has no holder that could be replaced' },
};
