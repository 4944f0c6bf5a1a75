/**
 * Redisson's exclusive locks: RLock, spin, non-reentrant, fair and fenced all are one HASH
 * `name` of `<client uuid>:<thread>` → hold count. The fair lock adds a queue and its timeouts, the
 * fenced lock a token counter; without these siblings they look like the plain lock.
 * @see redisson/redisson@66863978 RedissonLock, RedissonFairLock, RedissonFencedLock
 */
import type { Fence } from '../domain/fence.ts';
import type { Waiter, Waiters } from '../domain/holder.ts';
import { known, unknown, valueOf } from '../domain/known.ts';
import type { Confidence, LockNote } from '../domain/lock.ts';
import { parseText, stringToText, type Text } from '../domain/text.ts';
import type { Decoded, RedisConvention, RedisRecord, RedisRelease } from './convention.ts';
import { exactOwner, holdCount, looseOwner, nameAfterPrefix, prefixed } from './redisson-names.ts';

const channelPrefix = 'redisson_lock__channel';
const queuePrefix = 'redisson_lock_queue';
const timeoutPrefix = 'redisson_lock_timeout';
const tokenPrefix = 'redisson_lock_token';
const latchPrefix = 'redisson_unlock_latch';

export const redisson: RedisConvention = {
  id: 'redisson',
  title: 'Redisson lock',
  system: 'redis',
  types: ['hash', 'none'],
  matches,
  siblings: ({ key }) => [
    { key: prefixed(tokenPrefix, key), what: 'key' },
    { key: prefixed(queuePrefix, key), what: 'key' },
    { key: prefixed(timeoutPrefix, key), what: 'key' },
    { key: prefixed(channelPrefix, key), what: 'channel' },
  ],
  helperOf(key) {
    for (const prefix of [queuePrefix, timeoutPrefix, tokenPrefix]) {
      const name = nameAfterPrefix(prefix, key);
      if (name !== undefined) return name;
    }
    if (!key.startsWith(latchPrefix)) return undefined;
    // The latch's name ends in a request id: `redisson_unlock_latch:{name}:<id>`.
    return nameAfterPrefix(latchPrefix, dropLastPart(key));
  },
  keysMatching: (pattern) => [prefixed(queuePrefix, pattern), prefixed(timeoutPrefix, pattern)],
  outlives: (helper) =>
    helper.startsWith(`${queuePrefix}:`) || helper.startsWith(`${timeoutPrefix}:`),
  decode,
  release,
};

function dropLastPart(key: Text): Text {
  const at = key.lastIndexOf(':');
  return at === -1 ? key : parseText(key.slice(0, at));
}

function matches(record: RedisRecord): Confidence | undefined {
  if (record.type === 'none') return isLeftover(record) ? 'high' : undefined;
  const entries = [...(record.fields ?? [])];
  const [first] = entries;
  if (first === undefined || entries.length > 1) return undefined;
  const [owner, count] = first;
  if (holdCount(count) === undefined) return undefined;
  if (exactOwner.test(owner)) return 'high';
  if (!looseOwner.test(owner)) return undefined;
  return record.ttlMs === undefined ? 'low' : 'medium';
}

/** Nobody holds it, and something of it is there: a queue, its times, a token, or somebody asleep. */
function isLeftover(record: RedisRecord): boolean {
  return isOrphaned(record) || record.siblings.has(prefixed(tokenPrefix, record.key));
}

function isOrphaned(record: RedisRecord): boolean {
  const left = [queuePrefix, timeoutPrefix].some((prefix) =>
    record.siblings.has(prefixed(prefix, record.key)),
  );
  return left || sleepers(record) > 0;
}

/** Subscribers of the lock's channel, as far as they were counted. */
function sleepers({ key, siblings }: RedisRecord): number {
  const subscribers = siblings.get(prefixed(channelPrefix, key))?.subscribers;
  return (subscribers && valueOf(subscribers)) ?? 0;
}

function queueOf(record: RedisRecord): readonly { readonly member: Text }[] {
  return record.siblings.get(prefixed(queuePrefix, record.key))?.members ?? [];
}

function decode(record: RedisRecord): Decoded {
  const queue = queueOf(record);
  const token = record.siblings.get(prefixed(tokenPrefix, record.key))?.value;
  const fair = queue.length > 0 || record.siblings.has(prefixed(timeoutPrefix, record.key));
  const waiters = fair ? fairWaiters(record) : subscribed(record);
  return {
    state: stateOf(record),
    mode: 'exclusive',
    holders: known(
      [...(record.fields ?? [])].map(([owner, count]) => ({
        owner,
        place: unknown('the id is random for each client process and names no host'),
        holds: holdCount(count) ?? 1,
      })),
    ),
    waiters,
    fence: fenceOf(token),
    heldForMs: unknown(
      'the record does not say since when',
      'write the time of the grant into the owner value',
    ),
    helpers: [...record.siblings.values()]
      .filter((one) => one.subscribers === undefined)
      .map((one) => one.key),
    notes: notesOf(record, waiters),
    title: fair
      ? 'Redisson fair lock'
      : token === undefined
        ? 'Redisson lock'
        : 'Redisson fenced lock',
    weakOwner: false,
  };
}

function stateOf(record: RedisRecord): Decoded['state'] {
  if (record.type !== 'none') return record.ttlMs === undefined ? 'no-ttl' : 'held';
  return isOrphaned(record) ? 'orphan-waiters' : 'free';
}

function fenceOf(token: Text | undefined): Fence {
  if (token === undefined) return { kind: 'none' };
  return /^\d{1,19}$/.test(token)
    ? { kind: 'token', token: BigInt(token), source: 'counter' }
    : { kind: 'unknown', reason: 'the token key holds no number' };
}

/** Waiters of the plain lock sleep on a channel; only their number is known, never their names. */
function subscribed(record: RedisRecord): Waiters {
  const channel = prefixed(channelPrefix, record.key);
  const subscribers = record.siblings.get(channel)?.subscribers;
  if (subscribers === undefined) {
    return { kind: 'unknown', reason: 'the subscribers of its channel were not counted' };
  }
  return subscribers.kind === 'unknown'
    ? subscribers
    : { kind: 'count', count: subscribers.value, source: `subscribers of ${channel}` };
}

function fairWaiters(record: RedisRecord): Waiters {
  const timeouts = record.siblings.get(prefixed(timeoutPrefix, record.key))?.members ?? [];
  const staleAt = new Map(timeouts.map(({ member, score }) => [member, score]));
  const now = valueOf(record.serverTimeMs);
  const list = queueOf(record).map(({ member }, index): Waiter => {
    const score = staleAt.get(member);
    const leftMs = score === undefined || now === undefined ? undefined : score - now;
    return {
      position: index + 1,
      owner: member,
      ...(leftMs === undefined
        ? {}
        : {
            lease: { kind: 'ttl', ttlMs: Math.max(0, leftMs), grantedMs: unknown('not recorded') },
          }),
      ...(leftMs !== undefined && leftMs <= 0 ? { note: staleNote } : {}),
    };
  });
  return { kind: 'exact', list };
}

const staleNote = 'gave up: its time in the queue has passed';

function notesOf(record: RedisRecord, waiters: Waiters): LockNote[] {
  const held = record.type !== 'none';
  const head = waiters.kind === 'exact' ? waiters.list[0] : undefined;
  if (head?.note === staleNote) {
    return [
      {
        code: 'dead-waiter',
        severity: 'warn',
        text: held
          ? 'the first waiter in the queue gave up; the next contender removes it'
          : 'a dead waiter is at the head of the queue; the next contender removes it',
      },
    ];
  }
  return held || !isOrphaned(record) ? [] : [orphanNote(record, head)];
}

/** What would unblock those who wait although nobody holds it. */
function orphanNote({ key }: RedisRecord, head: Waiter | undefined): LockNote {
  const channel = prefixed(channelPrefix, key);
  const wake = head === undefined ? channel : `${channel}:${head.owner ?? ''}`;
  return {
    code: 'orphan-waiters',
    severity: 'warn',
    text: `nobody holds it and somebody waits: PUBLISH ${wake} 0 wakes ${head === undefined ? 'them' : 'the head of the queue'}, or the next contender takes it`,
  };
}

function release(record: RedisRecord): RedisRelease {
  const channel = prefixed(channelPrefix, record.key);
  const list = prefixed(queuePrefix, record.key);
  const token = prefixed(tokenPrefix, record.key);
  const fair = record.siblings.has(list);
  return {
    alsoDelete: [],
    fenceKey: record.siblings.has(token) ? token : undefined,
    // The fair lock's waiters listen each on a channel of its own.
    publish: fair ? [] : [{ channel, message: '0', sharded: true }],
    ...(fair
      ? {
          queue: {
            list,
            deadlines: prefixed(timeoutPrefix, record.key),
            channel,
            message: '0',
          },
        }
      : {}),
    push: [],
    warnings: [
      ...(fair
        ? ['the queue is left as it is but for heads that gave up: only its head is woken']
        : []),
      'it may be one of several that a multi-lock took together: each of them is released by itself',
    ],
    hold: { as: 'hash', fields: [[{ put: 'owner' }, { text: stringToText('1') }]] },
  };
}
