/** One page of raw records, and how it is read from what the scripts and commands answer. */
import { isAscii } from 'node:buffer';
import { known, unknown, type Known } from '../../domain/known.ts';
import { bytesToText, stringToText, type Text } from '../../domain/text.ts';
import type { RedisRecord, RedisSibling, RedisType } from '../../conventions/convention.ts';
import { badReply } from './errors.ts';
import { asArray, asBuffer, asNumber, asText } from './replies.ts';

/** What one look at the server gave. */
export interface Page {
  /** `0` when the scan is over. */
  readonly cursor: string;
  /** Hash table slots walked; the measure of the server's work. */
  readonly scanned: number;
  /** Keys that the account may not read. */
  readonly hidden: number;
  /** Server wall clock in epoch ms. */
  readonly serverTimeMs: Known<number>;
  readonly records: readonly RedisRecord[];
}

const types: readonly RedisType[] = [
  'none',
  'string',
  'hash',
  'list',
  'set',
  'zset',
  'stream',
  'other',
];

/** A key that is not there, as a record. */
export function absentRecord(key: Text, serverTimeMs: Known<number>): RedisRecord {
  return toRecord(key, 'none', -2, 0, serverTimeMs);
}

/** The answer of a page script or a keys script; packed strings come first. */
export function parsePage(reply: unknown): Page {
  const [cursor, scanned, hidden, time, flat, heads, bodies] = asArray(reply, 'a page script');
  const slots = asArray(flat, 'a page script');
  const serverTimeMs = parseTime(time);
  const records = unpackStrings(
    asBuffer(heads, 'a page script'),
    asBuffer(bodies, 'a page script'),
    serverTimeMs,
  );
  for (let at = 0; at + 3 < slots.length; at += 4) {
    const type = types[asNumber(slots[at + 1], 'TYPE')] ?? 'other';
    const key = asText(slots[at], 'SCAN');
    const pttl = asNumber(slots[at + 2], 'PTTL');
    records.push(toRecord(key, type, pttl, slots[at + 3], serverTimeMs));
  }
  return {
    cursor: asBuffer(cursor, 'SCAN').toString(),
    scanned: asNumber(scanned, 'SCAN'),
    hidden: asNumber(hidden, 'SCAN'),
    serverTimeMs,
    records,
  };
}

/** Parts of one look, read from several nodes; the clock is the first one's. */
export function joined(pages: readonly Page[]): Page {
  return {
    cursor: '0',
    scanned: 0,
    hidden: pages.reduce((sum, { hidden }) => sum + hidden, 0),
    serverTimeMs: pages[0]?.serverTimeMs ?? unknown('no node was asked'),
    records: pages.flatMap(({ records }) => records),
  };
}

const headBytes = 16;

/** The strings of a page, packed as the scripts describe. */
function unpackStrings(heads: Buffer, bodies: Buffer, serverTimeMs: Known<number>): RedisRecord[] {
  // Where no byte can be part of a longer character, each is one: no decoder is needed.
  const ascii = isAscii(bodies);
  const slice = (from: number, to: number): Text =>
    ascii
      ? stringToText(bodies.toString('latin1', from, to))
      : bytesToText(bodies.subarray(from, to));
  const records: RedisRecord[] = [];
  let at = 0;
  for (let head = 0; head + headBytes <= heads.length; head += headBytes) {
    const valueAt = at + heads.readUInt32BE(head);
    const end = valueAt + heads.readUInt32BE(head + 12);
    const pttl = heads.readDoubleBE(head + 4);
    records.push(stringRecord(slice(at, valueAt), pttl, slice(valueAt, end), serverTimeMs));
    at = end;
  }
  if (at !== bodies.length) throw badReply('a page script');
  return records;
}

/** A string that was there; PTTL -2 is "gone since". */
function stringRecord(
  key: Text,
  pttl: number,
  value: Text,
  serverTimeMs: Known<number>,
): RedisRecord {
  const [system, type, siblings] = ['redis', 'string', noSiblings] as const;
  if (pttl === -2) return toRecord(key, 'none', pttl, 0, serverTimeMs);
  const ttlMs = pttl < 0 ? undefined : pttl;
  return { system, key, type, ttlMs, siblings, serverTimeMs, value };
}

/** A type by the name that TYPE answers; module types and the like are `other`. */
export function typeNamed(name: string): RedisType {
  return types.find((type) => type === name) ?? 'other';
}

/** TIME's {seconds, microseconds}; anything else is a refusal. */
export function parseTime(reply: unknown): Known<number> {
  if (!Array.isArray(reply)) return unknown('the server’s clock was refused', 'needs +time');
  return known(Math.floor(asNumber(reply[0], 'TIME') * 1000 + asNumber(reply[1], 'TIME') / 1000));
}

/** The siblings of a record that was read alone. */
const noSiblings: ReadonlyMap<Text, RedisSibling> = new Map();

/**
 * One record, still without siblings. `content` as the scripts define it; PTTL -1 is "no TTL", -2
 * "no such key". Objects are written out, not spread: a listing makes a million of them.
 */
export function toRecord(
  key: Text,
  found: RedisType,
  pttl: number,
  content: unknown,
  serverTimeMs: Known<number>,
): RedisRecord {
  const type = pttl === -2 ? 'none' : found;
  const ttlMs = pttl < 0 ? undefined : pttl;
  const siblings = noSiblings;
  if (typeof content === 'number' || type === 'none') {
    const bare: RedisRecord = { system: 'redis', key, type, ttlMs, siblings, serverTimeMs };
    return typeof content === 'number' && content > 0 && type !== 'none'
      ? { ...bare, tooBig: content }
      : bare;
  }
  if (type === 'string') return stringRecord(key, pttl, asText(content, 'GETRANGE'), serverTimeMs);
  const list = asArray(content, type);
  if (type === 'hash') {
    const fields = parseFields(list);
    return { system: 'redis', key, type, ttlMs, siblings, serverTimeMs, fields };
  }
  const [total, ...rest] = list;
  const memberCount = asNumber(total, type);
  const members = type === 'zset' ? scored(rest) : plainMembers(rest);
  // A set has no order: so that two looks at one set give the same.
  if (type === 'set') members.sort((a, b) => (a.member < b.member ? -1 : 1));
  return { system: 'redis', key, type, ttlMs, siblings, serverTimeMs, memberCount, members };
}

function parseFields(flat: readonly unknown[]): ReadonlyMap<Text, Text> {
  const fields = new Map<Text, Text>();
  for (let at = 0; at + 1 < flat.length; at += 2) {
    fields.set(asText(flat[at], 'HGETALL'), asText(flat[at + 1], 'HGETALL'));
  }
  if (flat.length % 2 === 1) throw badReply('HGETALL');
  return fields;
}

function plainMembers(members: readonly unknown[]): { member: Text }[] {
  return members.map((member) => ({ member: asText(member, 'members') }));
}

function scored(flat: readonly unknown[]): { member: Text; score: number }[] {
  const list = [];
  for (let at = 0; at + 1 < flat.length; at += 2) {
    list.push({ member: asText(flat[at], 'ZRANGE'), score: asNumber(flat[at + 1], 'ZRANGE') });
  }
  return list;
}
