/**
 * Redisson's FasterMultiLock: one HASH for a group of values; for each value locked three fields,
 * `<hash>` → owner, `<hash>:<owner>:expire_time` and `<hash>:<owner>:lock_count`. Each value has its
 * own end; the key's TTL is only the latest of them.
 * @see redisson/redisson@66863978 RedissonFasterMultiLock
 */
import type { Holder } from '../domain/holder.ts';
import { known, unknown, valueOf } from '../domain/known.ts';
import type { Text } from '../domain/text.ts';
import { parseText } from '../domain/text.ts';
import type { Decoded, RedisConvention, RedisGrant, RedisRecord } from './convention.ts';
import { subscribedWaiters } from './redis-members.ts';
import { holdCount, prefixed } from './redisson-names.ts';
import { heldForUnknown } from './string-lock.ts';

const channelOf = (name: Text): Text => prefixed('redisson_lock__channel', name);

export const redissonFasterMultiLock: RedisConvention = {
  id: 'redisson-faster-multilock',
  title: 'Redisson faster multilock',
  system: 'redis',
  types: ['hash'],
  matches: (record) => (valuesOf(record).length > 0 ? 'high' : undefined),
  siblings: ({ key }) => [{ key: channelOf(key), what: 'channel' }],
  helperOf: () => undefined,
  decode,
  grantOf,
  release: ({ key }) => ({
    alsoDelete: [],
    fenceKey: undefined,
    publish: [{ channel: channelOf(key), message: '0', sharded: true }],
    push: [],
    warnings: ['all values of the group that this owner holds are released'],
    hold: { as: 'nothing', reason: 'a group of values cannot be replaced in one step' },
  }),
};

interface LockedValue {
  /** Redisson's hash of the value. */
  readonly hash: Text;
  readonly owner: Text;
  readonly expireField: Text;
  readonly countField: Text;
}

function valuesOf({ fields = new Map() }: Pick<RedisRecord, 'fields'>): LockedValue[] {
  const values: LockedValue[] = [];
  for (const [hash, owner] of fields) {
    const expireField = parseText(`${hash}:${owner}:expire_time`);
    const countField = parseText(`${hash}:${owner}:lock_count`);
    if (fields.has(expireField) && fields.has(countField)) {
      values.push({ hash, owner, expireField, countField });
    }
  }
  return values;
}

function decode(record: RedisRecord): Decoded {
  return {
    state: record.ttlMs === undefined ? 'no-ttl' : 'held',
    mode: 'exclusive',
    holders: known(valuesOf(record).map((one) => toHolder(record, one))),
    waiters: subscribedWaiters(record, channelOf(record.key)),
    fence: { kind: 'none' },
    heldForMs: heldForUnknown,
    helpers: [],
    notes: [],
    weakOwner: false,
  };
}

function toHolder(record: RedisRecord, one: LockedValue): Holder {
  const endsAt = Number(record.fields?.get(one.expireField));
  const now = valueOf(record.serverTimeMs);
  return {
    owner: one.owner,
    place: unknown('the id is random for each client process and names no host'),
    holds: holdCount(record.fields?.get(one.countField)) ?? 1,
    record: one.hash,
    lease:
      now === undefined || !Number.isFinite(endsAt)
        ? { kind: 'unknown', reason: 'its own end cannot be told' }
        : { kind: 'ttl', ttlMs: Math.max(0, endsAt - now), grantedMs: unknown('not recorded') },
  };
}

/** Every value of one owner: its renewals change only the times, which are not compared. */
function grantOf(record: RedisRecord, holder: Text | undefined): RedisGrant | undefined {
  const all = valuesOf(record);
  const owners = new Set(all.map(({ owner }) => owner));
  const owner = holder ?? (owners.size === 1 ? all[0]?.owner : undefined);
  const mine = all.filter((one) => one.owner === owner).sort((a, b) => (a.hash < b.hash ? -1 : 1));
  if (mine.length === 0) return undefined;
  return {
    key: record.key,
    type: 'hash',
    want: mine.flatMap((one) => [one.hash, one.owner]),
    exact: false,
    part: {
      remove: mine.flatMap((one) => [one.hash, one.expireField, one.countField]),
      idle: [],
    },
  };
}
