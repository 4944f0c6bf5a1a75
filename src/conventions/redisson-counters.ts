/**
 * Redisson's RSemaphore and RCountDownLatch: a bare number. Nothing tells such a key from any other
 * counter, so neither is ever recognised: only the caller's word makes it one, or those who sleep on
 * its channel although the key is gone.
 * @see redisson/redisson@66863978 RedissonSemaphore, RedissonCountDownLatch
 */
import { known, unknown } from '../domain/known.ts';
import type { LockNote } from '../domain/lock.ts';
import { parseText, type Text } from '../domain/text.ts';
import type { Decoded, RedisConvention, RedisRecord, RedisRelease } from './convention.ts';
import { orphansOn, subscribedWaiters } from './redis-members.ts';
import { prefixed } from './redisson-names.ts';
import { heldForUnknown, weakNote } from './string-lock.ts';

const semaphoreChannel = (name: Text): Text => prefixed('redisson_sc', name);
/** Always with braces. */
const latchChannel = (name: Text): Text => parseText(`redisson_countdownlatch__channel__{${name}}`);

export const redissonSemaphore: RedisConvention = {
  id: 'redisson-semaphore',
  title: 'Redisson semaphore',
  system: 'redis',
  types: ['string', 'none'],
  matches: (record) => sureOfOrphans(record, semaphoreChannel(record.key)),
  siblings: ({ key }) => [{ key: semaphoreChannel(key), what: 'channel' }],
  helperOf: () => undefined,
  decode(record) {
    const free = countIn(record);
    const channel = semaphoreChannel(record.key);
    return {
      ...counter(record, channel),
      mode: 'semaphore',
      state:
        record.type === 'none' ? absentState(record, channel) : free === 0 ? 'held' : 'unknown',
      holders: unknown('free permits are counted, and nobody records who has the others'),
      notes: semaphoreNotes(record, free),
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
  types: ['string', 'none'],
  matches: (record) => sureOfOrphans(record, latchChannel(record.key)),
  siblings: ({ key }) => [{ key: latchChannel(key), what: 'channel' }],
  helperOf: () => undefined,
  decode(record) {
    const left = countIn(record);
    const channel = latchChannel(record.key);
    if (record.type === 'none') {
      return {
        ...counter(record, channel),
        mode: 'latch',
        state: absentState(record, channel),
        holders: known([]),
        notes: orphanNotes(record, channel, `it is open: PUBLISH ${channel} 0 wakes them`),
        weakOwner: false,
      };
    }
    return {
      ...counter(record, channel),
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

function sureOfOrphans(record: RedisRecord, channel: Text): 'high' | undefined {
  return orphansOn(record, channel) > 0 ? 'high' : undefined;
}

function absentState(record: RedisRecord, channel: Text): Decoded['state'] {
  return orphansOn(record, channel) > 0 ? 'orphan-waiters' : 'free';
}

function orphanNotes(record: RedisRecord, channel: Text, remedy: string): LockNote[] {
  return orphansOn(record, channel) === 0
    ? []
    : [{ code: 'orphan-waiters', severity: 'warn', text: `somebody still waits, and ${remedy}` }];
}

/** A holder that died never gives its permit back: what would let the others go on is said. */
function semaphoreNotes(record: RedisRecord, free: number | undefined): LockNote[] {
  const { key, type } = record;
  const channel = semaphoreChannel(key);
  const add = `INCRBY ${key} 1 and PUBLISH ${channel} 1 give one permit more`;
  if (type === 'none') return orphanNotes(record, channel, `there are no permits: ${add}`);
  const count = free === undefined ? 'it holds no number' : `${free} permits are free`;
  const text = free === 0 ? `${count}; where a holder died with one, ${add}` : count;
  return [{ code: 'permits', severity: 'info', text }];
}

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
