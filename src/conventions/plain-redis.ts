/**
 * The home-made lock: one string, `SET name owner NX PX ttl`, released by compare-and-delete. Also
 * what most small libraries write (redis-py, node-redlock, redsync …) before their own files tell
 * them apart. Any string fits, so it never claims one by itself: the name or the caller does.
 */
import type { Waiters } from '../domain/holder.ts';
import { known, unknown } from '../domain/known.ts';
import type { LockNote } from '../domain/lock.ts';
import type { Decoded, RedisConvention, RedisRecord } from './convention.ts';
import { placeInValue, weakness } from './owner-shape.ts';

export const plainRedis: RedisConvention = {
  id: 'plain',
  title: 'plain string',
  system: 'redis',
  types: ['string'],
  matches: (record) => (record.type === 'string' ? 'low' : undefined),
  siblings: () => [],
  helperOf: () => undefined,
  decode,
  release: () => ({
    alsoDelete: [],
    fenceKey: undefined,
    publish: [],
    push: [],
    warnings: ['a library whose renewal sets the key again may bring the lock back'],
    hold: { as: 'string' },
  }),
};

const noWaiters: Waiters = {
  kind: 'unknown',
  reason: 'this layout keeps no record of waiters',
};
const heldForUnknown = unknown(
  'the record does not say since when',
  'write the time of the grant into the owner value',
);

function decode(record: RedisRecord): Decoded {
  const { value } = record;
  const weak = value === undefined ? undefined : weakness(value);
  return {
    state: stateOf(record),
    mode: 'exclusive',
    holders: holdersOf(record),
    waiters: noWaiters,
    fence: { kind: 'none' },
    heldForMs: heldForUnknown,
    helpers: [],
    notes: weak === undefined ? [] : [weakNote(weak)],
    weakOwner: weak !== undefined,
  };
}

function weakNote(why: string): LockNote {
  return {
    code: 'weak-owner',
    severity: 'warn',
    text: `the owner value ${why}: a release guarded by it cannot tell one holder from the next`,
  };
}

function stateOf(record: RedisRecord): Decoded['state'] {
  if (record.type === 'none') return 'free';
  return record.ttlMs === undefined ? 'no-ttl' : 'held';
}

function holdersOf(record: RedisRecord): Decoded['holders'] {
  const { value, tooBig } = record;
  if (value !== undefined) return known([{ owner: value, place: placeInValue(value), holds: 1 }]);
  return record.type === 'none'
    ? known([])
    : unknown(`the value is ${tooBig ?? 'too many'} bytes long: no owner token`);
}
