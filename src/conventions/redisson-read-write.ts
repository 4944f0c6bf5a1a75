/**
 * Redisson's RReadWriteLock: one HASH with a field `mode`, readers `<owner>` and a writer
 * `<owner>:write`; each read hold has a string of its own whose TTL is that hold's lease.
 * @see redisson/redisson@66863978 RedissonReadLock, RedissonWriteLock
 */
import type { Holder } from '../domain/holder.ts';
import type { Lease } from '../domain/lease.ts';
import { known, unknown } from '../domain/known.ts';
import type { LockNote } from '../domain/lock.ts';
import { parseText, stringToText, type Text } from '../domain/text.ts';
import type {
  Decoded,
  RedisConvention,
  RedisGrant,
  RedisRecord,
  RedisRelease,
  RedisSibling,
  RedisTidy,
} from './convention.ts';
import { orphansOn, subscribedWaiters } from './redis-members.ts';
import { holdCount, prefixed, suffixed } from './redisson-names.ts';

const channelPrefix = 'redisson_rwlock';
const modeField = stringToText('mode');
const writeSuffix = ':write';
/** Names of per-hold strings are asked for up to these bounds. */
const most = { holders: 20, holds: 4 };

export const redissonReadWrite: RedisConvention = {
  id: 'redisson-read-write',
  title: 'Redisson read/write lock',
  system: 'redis',
  types: ['hash', 'none'],
  matches(record) {
    if (isOrphaned(record)) return 'high';
    const mode = record.fields?.get(modeField);
    if (mode !== 'read' && mode !== 'write') return undefined;
    return holdersOf(record).length > 0 ? 'high' : undefined;
  },
  siblings: (record) => [
    ...holdersOf(record)
      .filter((holder) => holder.timed)
      .flatMap((holder) => timeoutKeys(record.key, holder))
      .map((key) => ({ key, what: 'key' as const })),
    { key: channelOf(record.key), what: 'channel' },
  ],
  helperOf(key) {
    if (!key.includes(':rwlock_timeout:')) return undefined;
    const match = /^(.*):[^:]+:\d+:rwlock_timeout:\d+$/.exec(key);
    if (match?.[1] === undefined) return undefined;
    return parseText(/^\{([^{]+)\}$/.exec(match[1])?.[1] ?? match[1]);
  },
  decode,
  grantOf,
  release,
};

function channelOf(name: Text): Text {
  return prefixed(channelPrefix, name);
}

/** Nobody holds it, and somebody sleeps on its channel. */
function isOrphaned(record: RedisRecord): boolean {
  return orphansOn(record, channelOf(record.key)) > 0;
}

interface Hold {
  readonly owner: Text;
  readonly holds: number;
  readonly mode: 'read' | 'write';
  /** Its times were asked for. */
  readonly timed: boolean;
}

function holdersOf(record: RedisSibling): Hold[] {
  const list: Hold[] = [];
  for (const [name, count] of record.fields ?? []) {
    const holds = holdCount(count);
    if (name === modeField || holds === undefined || !name.includes(':')) continue;
    const writes = name.endsWith(writeSuffix);
    const owner = writes ? parseText(name.slice(0, -writeSuffix.length)) : name;
    list.push({
      owner,
      holds,
      mode: writes ? 'write' : 'read',
      timed: list.length < most.holders,
    });
  }
  return list;
}

function timeoutKeys(name: Text, holder: Hold): Text[] {
  if (holder.mode === 'write') return [];
  return Array.from({ length: Math.min(holder.holds, most.holds) }, (_, index) =>
    suffixed(name, `${holder.owner}:rwlock_timeout:${index + 1}`),
  );
}

function decode(record: RedisRecord): Decoded {
  const holders = holdersOf(record);
  const expired = holders.filter((one) => hasRunOut(leaseOf(record, one)));
  return {
    state: stateOf(record),
    mode: record.fields?.get(modeField) === 'read' ? 'shared' : 'exclusive',
    holders: known(holders.map((one) => toHolder(record, one))),
    waiters: subscribedWaiters(record, channelOf(record.key)),
    fence: { kind: 'none' },
    heldForMs: unknown(
      'the record does not say since when',
      'write the time of the grant into the owner value',
    ),
    helpers: [...record.siblings.values()]
      .filter((one) => one.subscribers === undefined)
      .map((one) => one.key),
    notes: isOrphaned(record) ? [orphanNote(record.key)] : expired.map(expiredNote),
    weakOwner: false,
  };
}

function stateOf(record: RedisRecord): Decoded['state'] {
  if (record.type === 'none') return isOrphaned(record) ? 'orphan-waiters' : 'free';
  return record.ttlMs === undefined ? 'no-ttl' : 'held';
}

function orphanNote(name: Text): LockNote {
  return {
    code: 'orphan-waiters',
    severity: 'warn',
    text: `nobody holds it and somebody waits: PUBLISH ${channelOf(name)} 1 wakes them all`,
  };
}

function expiredNote(one: Hold): LockNote {
  return {
    code: 'reader-expired',
    severity: 'warn',
    text: `the time of reader ${one.owner} has run out; its entry stays until the lock is next used`,
  };
}

function toHolder(record: RedisRecord, one: Hold): Holder {
  const lease = leaseOf(record, one);
  return {
    owner: one.owner,
    place: unknown('the id is random for each client process and names no host'),
    holds: one.holds,
    mode: one.mode,
    ...(lease === undefined ? {} : { lease }),
  };
}

/** A reader's own lease: the longest of its holds. Undefined for a writer: the record's counts. */
function leaseOf(record: RedisRecord, one: Hold): Lease | undefined {
  if (one.mode === 'write') return undefined;
  if (!one.timed) return { kind: 'unknown', reason: 'its own time was not read: too many holders' };
  const left = timeoutKeys(record.key, one).map((key) => record.siblings.get(key)?.ttlMs ?? 0);
  return { kind: 'ttl', ttlMs: Math.max(...left), grantedMs: unknown('not recorded') };
}

function hasRunOut(lease: Lease | undefined): boolean {
  return lease?.kind === 'ttl' && lease.ttlMs <= 0;
}

function ownersOf(record: RedisSibling): readonly Text[] {
  return [...new Set(holdersOf(record).map((one) => one.owner))];
}

/** The only owner has the whole record; one of several its own fields. */
function grantOf(record: RedisRecord, holder: Text | undefined): RedisGrant | undefined {
  const owners = ownersOf(record);
  const owner = holder ?? (owners.length === 1 ? owners[0] : undefined);
  if (owner === undefined || !owners.includes(owner)) return undefined;
  const whole = owners.length === 1;
  const pairs = [...(record.fields ?? [])]
    .filter(([name]) => whole || name === owner || name === `${owner}${writeSuffix}`)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const grant = { key: record.key, type: 'hash', want: pairs.flat(), exact: whole } as const;
  return whole
    ? grant
    : { ...grant, part: { remove: pairs.map(([name]) => name), idle: [modeField] } };
}

function release(record: RedisRecord, _: Decoded, holder?: Text): RedisRelease {
  const all = holdersOf(record);
  const alone = new Set(all.map((one) => one.owner)).size === 1;
  const [mine, others] = [
    all.filter((one) => alone || one.owner === holder),
    all.filter((one) => !alone && one.owner !== holder),
  ];
  return {
    alsoDelete: mine
      .flatMap((one) => timeoutKeys(record.key, one))
      .filter((key) => record.siblings.has(key)),
    fenceKey: undefined,
    publish: [
      {
        channel: channelOf(record.key),
        message: '1',
        sharded: true,
        when: 'emptied',
      },
    ],
    tidy: remainingLease(record, others),
    push: [],
    warnings: alone ? [] : ['the others stay; writers wait until the last of them is gone'],
    hold: { as: 'nothing', reason: 'a read/write lock cannot be replaced in one step' },
  };
}

/** The record then lasts as long as the longest of those who stay, as the library leaves it. */
function remainingLease(record: RedisRecord, others: readonly Hold[]): readonly RedisTidy[] {
  const left = others.map((one) => leaseOf(record, one));
  if (left.some((lease) => lease?.kind !== 'ttl')) return [];
  const longestMs = Math.max(0, ...left.map((lease) => (lease?.kind === 'ttl' ? lease.ttlMs : 0)));
  if (longestMs === 0 || longestMs >= (record.ttlMs ?? Infinity)) return [];
  return [
    {
      command: 'PEXPIRE',
      key: record.key,
      argument: stringToText(String(longestMs)),
      when: 'remaining',
    },
  ];
}
