/**
 * Our own fenced lock (domain/fenced-layout.ts has the keys): the record carries owner, fence and
 * grant time; the counter beside it outlives every grant; a capped stream keeps the history.
 */
import {
  fencedEntryFields,
  fencedEntryTypes,
  fencedFields,
  fencedHistoryLength,
  fencedKeys,
  parseFencedKey,
  type FencedKeys,
} from '../domain/fenced-layout.ts';
import type { Fence } from '../domain/fence.ts';
import { known, mapKnown, unknown, type Known } from '../domain/known.ts';
import type { LockNote } from '../domain/lock.ts';
import { parseText, stringToText, type Text } from '../domain/text.ts';
import type {
  Decoded,
  RedisConvention,
  RedisRecord,
  RedisRelease,
  Word,
  WordPair,
} from './convention.ts';
import { placeInValue } from './owner-shape.ts';

const field = {
  owner: stringToText(fencedFields.owner),
  fence: stringToText(fencedFields.fence),
  grantedAt: stringToText(fencedFields.grantedAt),
  leaseMs: stringToText(fencedFields.leaseMs),
};

export const fencepostFenced: RedisConvention = {
  id: 'fencepost-fenced',
  title: 'fencepost fenced lock',
  system: 'redis',
  types: ['hash', 'none'],
  // A renewal may set another lease length.
  grantFields: [field.owner, field.fence, field.grantedAt],
  matches(record) {
    if (parseFencedKey(record.key)?.part !== 'lock') return undefined;
    if (record.type === 'none')
      return keysOf(record.key).some((key) => hasSibling(record, key)) ? 'high' : undefined;
    return record.fields?.has(field.owner) === true && fenceField(record) !== undefined
      ? 'high'
      : undefined;
  },
  siblings: (record) => keysOf(record.key).map((key) => ({ key, what: 'key' })),
  helperOf(key) {
    const parsed = parseFencedKey(key);
    if (parsed === undefined || parsed.part === 'lock') return undefined;
    return parseText(fencedKeys(parsed.name).lock);
  },
  keysMatching: (pattern) => [parseText(fencedKeys(pattern).lock)],
  keyOf: (name) => parseText(fencedKeys(name).lock),
  nameOf(key) {
    const parsed = parseFencedKey(key);
    return parsed?.part === 'lock' ? parseText(parsed.name) : undefined;
  },
  decode,
  release,
};

/** Counter and stream of a lock key; empty for any other key. */
function keysOf(lockKey: Text): Text[] {
  const keys = fencedKeysOf(lockKey);
  return keys === undefined ? [] : [parseText(keys.fence), parseText(keys.history)];
}

function fencedKeysOf(lockKey: Text): FencedKeys | undefined {
  const parsed = parseFencedKey(lockKey);
  return parsed === undefined ? undefined : fencedKeys(parsed.name);
}

function hasSibling(record: RedisRecord, key: Text): boolean {
  return record.siblings.has(key);
}

function decode(record: RedisRecord): Decoded {
  const owner = record.fields?.get(field.owner);
  const fence = fenceField(record);
  const counter = counterOf(record);
  const held = record.type !== 'none';
  return {
    state: !held ? 'free' : record.ttlMs === undefined ? 'no-ttl' : 'held',
    mode: 'exclusive',
    holders: holdersOf(record, owner),
    waiters: {
      kind: 'unknown',
      reason: 'waiters of this protocol poll; no record is kept of them',
    },
    fence: fenceOf(fence ?? counter),
    heldForMs: held ? heldFor(record) : unknown('nobody holds it'),
    helpers: keysOf(record.key).filter((key) => hasSibling(record, key)),
    notes: notesOf(fence, counter),
    weakOwner: false,
  };
}

function holdersOf(record: RedisRecord, owner: Text | undefined): Decoded['holders'] {
  if (record.type === 'none') return known([]);
  if (owner === undefined) return unknown('the record has no owner field');
  const grantedMs = Number(record.fields?.get(field.leaseMs));
  const lease =
    record.ttlMs !== undefined && Number.isFinite(grantedMs)
      ? { lease: { kind: 'ttl' as const, ttlMs: record.ttlMs, grantedMs: known(grantedMs) } }
      : {};
  return known([{ owner, place: placeInValue(owner), holds: 1, ...lease }]);
}

function fenceOf(token: bigint | undefined): Fence {
  return token === undefined
    ? { kind: 'unknown', reason: 'neither the record nor its counter holds a number' }
    : { kind: 'token', token, source: 'counter' };
}

function heldFor(record: RedisRecord): Known<number> {
  const grantedAt = Number(record.fields?.get(field.grantedAt) ?? NaN);
  if (!Number.isFinite(grantedAt)) return unknown('the record has no grant time');
  return mapKnown(record.serverTimeMs, (now) => Math.max(0, now - grantedAt));
}

function notesOf(fence: bigint | undefined, counter: bigint | undefined): LockNote[] {
  if (fence === undefined || (counter !== undefined && counter >= fence)) return [];
  return [
    {
      code: 'fence-went-back',
      severity: 'warn',
      text:
        counter === undefined
          ? `the fence counter is missing although token ${fence} was given: the next grant would start again at 1`
          : `the fence counter is at ${counter}, behind the token ${fence} already given`,
    },
  ];
}

function fenceField(record: RedisRecord): bigint | undefined {
  return parseToken(record.fields?.get(field.fence));
}

function counterOf(record: RedisRecord): bigint | undefined {
  const keys = fencedKeysOf(record.key);
  return keys === undefined
    ? undefined
    : parseToken(record.siblings.get(parseText(keys.fence))?.value);
}

function parseToken(text: Text | undefined): bigint | undefined {
  return text !== undefined && /^\d{1,19}$/.test(text) ? BigInt(text) : undefined;
}

function release(record: RedisRecord): RedisRelease {
  const keys = fencedKeysOf(record.key);
  return {
    alsoDelete: [],
    fenceKey: keys === undefined ? undefined : parseText(keys.fence),
    publish: [],
    push: [],
    warnings:
      record.fields?.has(field.grantedAt) === true
        ? []
        : ['the record has no grant time: it was not written whole'],
    hold: {
      as: 'hash',
      fields: [
        [{ text: field.owner }, { put: 'owner' }],
        [{ text: field.fence }, { put: 'fence' }],
        [{ text: field.grantedAt }, { put: 'now' }],
        [{ text: field.leaseMs }, { put: 'ttlMs' }],
      ],
    },
    ...(keys === undefined ? {} : { history: historyOf(record, parseText(keys.history)) }),
  };
}

function historyOf(record: RedisRecord, key: Text): NonNullable<RedisRelease['history']> {
  const value = (name: Text): Word => ({ text: record.fields?.get(name) ?? stringToText('') });
  const entry = (type: string, owner: Word, fence: Word): WordPair[] => [
    [{ text: stringToText(fencedEntryFields.type) }, { text: stringToText(type) }],
    [{ text: stringToText(fencedEntryFields.owner) }, owner],
    [{ text: stringToText(fencedEntryFields.fence) }, fence],
    [{ text: stringToText(fencedEntryFields.at) }, { put: 'now' }],
  ];
  return {
    key,
    maxLength: fencedHistoryLength,
    released: entry(fencedEntryTypes.forceRelease, value(field.owner), value(field.fence)),
    held: entry(fencedEntryTypes.grant, { put: 'owner' }, { put: 'fence' }),
  };
}
