/**
 * The read/write lock of DistributedLock (.NET): `<name>.writer`, a string, and `<name>.readers`, a
 * set of handles with one TTL for all of them. A writer that waits has its handle in the string, too,
 * with `_WRITERWAITING` behind it: that is no hold.
 * @see madelson/DistributedLock@3da3eaf RedisReaderWriterLockPrimitives.cs
 */
import type { Holder } from '../domain/holder.ts';
import { known } from '../domain/known.ts';
import { parseText, type Text } from '../domain/text.ts';
import type {
  Decoded,
  RedisConvention,
  RedisGrant,
  RedisRecord,
  RedisSibling,
} from './convention.ts';
import { handlePlace, isHandle } from './distributed-lock-mutex.ts';
import { memberGrant } from './redis-members.ts';
import { heldForUnknown } from './string-lock.ts';
import { unknown } from '../domain/known.ts';
import type { Lease } from '../domain/lease.ts';

const writerSuffix = '.writer';
const readersSuffix = '.readers';
const waitingSuffix = '_WRITERWAITING';

export const distributedLockReadWrite: RedisConvention = {
  id: 'distributed-lock-read-write',
  title: 'DistributedLock read/write lock',
  system: 'redis',
  types: ['string', 'set', 'none'],
  matches: (record) => (isOurs(record) ? 'high' : undefined),
  // Both, whichever of them the record is.
  siblings: ({ key }) => {
    const name = nameOf(key) ?? key;
    return [writerSuffix, readersSuffix].map((suffix) => ({
      key: parseText(name + suffix),
      what: 'key' as const,
    }));
  },
  helperOf: () => undefined,
  keyOf: (name) => parseText(name + writerSuffix),
  keysMatching: (pattern) => [
    parseText(pattern + writerSuffix),
    parseText(pattern + readersSuffix),
  ],
  nameOf,
  decode,
  grantOf,
  release: () => ({
    alsoDelete: [],
    fenceKey: undefined,
    publish: [],
    push: [],
    warnings: [],
    hold: { as: 'nothing', reason: 'a read/write lock cannot be replaced in one step' },
  }),
};

function nameOf(key: Text): Text | undefined {
  const suffix = [writerSuffix, readersSuffix].find((one) => key.endsWith(one));
  return suffix === undefined ? undefined : parseText(key.slice(0, -suffix.length));
}

function isOurs(record: RedisRecord): boolean {
  if (nameOf(record.key) === undefined) return false;
  const { writer, readers } = partsOf(record);
  const first = readers?.members?.[0]?.member;
  return (
    (writer !== undefined && isHandle(writer.handle)) || (first !== undefined && isHandle(first))
  );
}

interface Writer {
  readonly record: RedisSibling;
  readonly handle: Text;
  readonly waiting: boolean;
}

function partsOf(record: RedisRecord): {
  readonly writer: Writer | undefined;
  readonly readers: RedisSibling | undefined;
} {
  const name = nameOf(record.key) ?? record.key;
  const part = (suffix: string): RedisSibling | undefined => {
    const key = parseText(name + suffix);
    return key === record.key ? record : record.siblings.get(key);
  };
  const readers = part(readersSuffix);
  return {
    writer: writerIn(part(writerSuffix)),
    readers: readers?.type === 'set' ? readers : undefined,
  };
}

function writerIn(record: RedisSibling | undefined): Writer | undefined {
  if (record?.value === undefined) return undefined;
  const waiting = record.value.endsWith(waitingSuffix);
  const handle = waiting ? parseText(record.value.slice(0, -waitingSuffix.length)) : record.value;
  return { record, handle, waiting };
}

function decode(record: RedisRecord): Decoded {
  const { writer, readers } = partsOf(record);
  const writes = writer !== undefined && !writer.waiting;
  const bounds = writes ? writer.record : readers;
  const holders = writes ? [toHolder(writer.handle, 'write')] : readersIn(readers);
  return {
    state: holders.length === 0 ? 'free' : bounds?.ttlMs === undefined ? 'no-ttl' : 'held',
    mode: writes ? 'exclusive' : 'shared',
    holders: known(holders),
    waiters: waitersOf(writer),
    fence: { kind: 'none' },
    heldForMs: heldForUnknown,
    ...(holders.length === 0 ? {} : { lease: leaseOf(bounds) }),
    helpers: [...record.siblings.keys()].filter((key) => key !== record.key),
    notes:
      holders.length > 1
        ? [
            {
              code: 'shared-ttl',
              severity: 'info',
              text: 'all readers have one TTL: a dead one stays while another renews it',
            },
          ]
        : [],
    weakOwner: false,
  };
}

function readersIn(readers: RedisSibling | undefined): Holder[] {
  return (readers?.members ?? []).map(({ member }) => toHolder(member, 'read'));
}

function toHolder(handle: Text, mode: 'read' | 'write'): Holder {
  return { owner: handle, place: handlePlace(handle), holds: 1, mode };
}

function leaseOf(record: RedisSibling | undefined): Lease {
  return record?.ttlMs === undefined
    ? { kind: 'never' }
    : { kind: 'ttl', ttlMs: record.ttlMs, grantedMs: unknown('not recorded') };
}

/** Of the others only a writer that waits leaves a mark. */
function waitersOf(writer: Writer | undefined): Decoded['waiters'] {
  if (writer?.waiting !== true) return { kind: 'unknown', reason: 'waiters poll' };
  return {
    kind: 'exact',
    list: [
      {
        position: 1,
        owner: writer.handle,
        mode: 'write',
        place: handlePlace(writer.handle),
        lease: leaseOf(writer.record),
        note: 'other waiters poll and leave no mark',
      },
    ],
  };
}

function grantOf(record: RedisRecord, holder: Text | undefined): RedisGrant | undefined {
  const { writer, readers } = partsOf(record);
  if (writer !== undefined && !writer.waiting) {
    if (holder !== undefined && holder !== writer.handle) return undefined;
    return { key: writer.record.key, type: 'string', want: [writer.handle], exact: true };
  }
  return readers === undefined ? undefined : memberGrant(readers, holder);
}
