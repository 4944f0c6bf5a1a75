/**
 * Redisson's RPermitExpirableSemaphore: a string `name` counts the permits that are free, and the
 * sorted set `{name}:timeout` has a random id for each permit given, with the time at which it ends.
 * The set is the record here: it alone names who holds.
 * @see redisson/redisson@66863978 RedissonPermitExpirableSemaphore
 */
import { unknown } from '../domain/known.ts';
import type { Confidence, LockNote } from '../domain/lock.ts';
import { parseText, stringToText, textToBytes, type Text } from '../domain/text.ts';
import type { Decoded, RedisConvention, RedisRecord, RedisRelease } from './convention.ts';
import {
  expiredNote,
  knownHolders,
  longestLease,
  memberGrant,
  scoredHolders,
  subscribedWaiters,
} from './redis-members.ts';
import { prefixed, suffixed } from './redisson-names.ts';
import { heldForUnknown } from './string-lock.ts';

const suffix = 'timeout';
const channelPrefix = 'redisson_sc';

export const redissonPermits: RedisConvention = {
  id: 'redisson-permits',
  title: 'Redisson permit semaphore',
  system: 'redis',
  types: ['zset'],
  matches(record): Confidence | undefined {
    const [first] = record.members ?? [];
    if (first?.score === undefined || nameOf(record.key) === undefined) return undefined;
    return textToBytes(first.member).length === 16 ? 'high' : 'medium';
  },
  siblings: ({ key }) => {
    const name = nameOf(key) ?? key;
    return [
      { key: name, what: 'key' },
      { key: channelOf(name), what: 'channel' },
    ];
  },
  helperOf: () => undefined,
  keysMatching: (pattern) => [suffixed(pattern, suffix)],
  keyOf: (name) => suffixed(name, suffix),
  nameOf,
  decode,
  grantOf: memberGrant,
  release,
};

/** `name` in `{name}:timeout`, or in `na{me}:timeout`. */
function nameOf(key: Text): Text | undefined {
  const rest = /^(.*\{.*\}.*):timeout$/.exec(key)?.[1];
  if (rest === undefined || rest.startsWith('redisson_')) return undefined;
  return parseText(/^\{([^{}]+)\}$/.exec(rest)?.[1] ?? rest);
}

function channelOf(name: Text): Text {
  return prefixed(channelPrefix, name);
}

function decode(record: RedisRecord): Decoded {
  const name = nameOf(record.key) ?? record.key;
  const scored = scoredHolders(record, () => unknown('a permit id is random and names no host'));
  const lease = longestLease(scored.holders);
  const waiters = subscribedWaiters(record, channelOf(name));
  const orphaned = scored.holders.length === 0 && waiters.kind === 'count' && waiters.count > 0;
  return {
    state:
      scored.holders.length > 0
        ? lease?.kind === 'never'
          ? 'no-ttl'
          : 'held'
        : orphaned
          ? 'orphan-waiters'
          : 'free',
    mode: 'semaphore',
    holders: knownHolders(scored),
    waiters,
    fence: { kind: 'none' },
    heldForMs: heldForUnknown,
    ...(lease === undefined ? {} : { lease }),
    helpers: record.siblings.get(name)?.type === 'string' ? [name] : [],
    notes: [
      ...countNotes(record, name),
      ...expiredNote(scored.expired),
      ...(orphaned ? [orphanNote(name)] : []),
    ],
    weakOwner: false,
  };
}

function countNotes({ siblings }: RedisRecord, name: Text): LockNote[] {
  const free = siblings.get(name)?.value;
  if (free !== undefined) {
    return [{ code: 'permits', severity: 'info', text: `${free} permits are free` }];
  }
  return [
    {
      code: 'count-missing',
      severity: 'warn',
      text: `the count of free permits (${name}) is gone: nobody gets one until permits are set again`,
    },
  ];
}

function orphanNote(name: Text): LockNote {
  return {
    code: 'orphan-waiters',
    severity: 'warn',
    text: `no permit is held and somebody waits: PUBLISH ${channelOf(name)} 1 wakes them, and the next acquire takes expired permits back`,
  };
}

/** The permit goes back to the count, and the new count is told. */
function release({ key }: RedisRecord): RedisRelease {
  const name = nameOf(key) ?? key;
  return {
    alsoDelete: [],
    fenceKey: undefined,
    tidy: [{ command: 'INCRBY', key: name, argument: stringToText('1') }],
    publish: [{ channel: channelOf(name), message: { put: 'count' }, sharded: true }],
    push: [],
    warnings: [],
    hold: { as: 'nothing', reason: 'a permit of a semaphore cannot be replaced in one step' },
  };
}
