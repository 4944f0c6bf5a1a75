/** One page of raw records, and how it is read from what the scripts and commands answer. */
import { known, unknown, type Known } from '../../domain/known.ts';
import type { Text } from '../../domain/text.ts';
import type { RedisSibling, RedisType } from '../../conventions/convention.ts';
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
  readonly records: readonly RedisSibling[];
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

/** The answer of a page script or a keys script. */
export function parsePage(reply: unknown): Page {
  const [cursor, scanned, hidden, time, flat] = asArray(reply, 'a page script');
  const slots = asArray(flat, 'a page script');
  const records: RedisSibling[] = [];
  for (let at = 0; at + 3 < slots.length; at += 4) {
    const type = types[asNumber(slots[at + 1], 'TYPE')] ?? 'other';
    records.push(
      toRecord(asText(slots[at], 'SCAN'), type, asNumber(slots[at + 2], 'PTTL'), slots[at + 3]),
    );
  }
  return {
    cursor: asBuffer(cursor, 'SCAN').toString(),
    scanned: asNumber(scanned, 'SCAN'),
    hidden: asNumber(hidden, 'SCAN'),
    serverTimeMs: parseTime(time),
    records,
  };
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

/** `content` as the scripts define it; PTTL -1 is "no TTL", -2 "no such key". */
export function toRecord(key: Text, type: RedisType, pttl: number, content: unknown): RedisSibling {
  if (type === 'none' || pttl === -2) return { key, type: 'none', ttlMs: undefined };
  const base = { key, type, ttlMs: pttl < 0 ? undefined : pttl };
  if (typeof content === 'number') return content > 0 ? { ...base, tooBig: content } : base;
  if (type === 'string') return { ...base, value: asText(content, 'GETRANGE') };
  const list = asArray(content, type);
  if (type === 'hash') return { ...base, fields: parseFields(list) };
  const [total, ...members] = list;
  const memberCount = asNumber(total, type);
  return {
    ...base,
    memberCount,
    members: type === 'zset' ? scored(members) : plainMembers(members),
  };
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
  return members.map((member) => ({ member: asText(member, 'LRANGE') }));
}

function scored(flat: readonly unknown[]): { member: Text; score: number }[] {
  const list = [];
  for (let at = 0; at + 1 < flat.length; at += 2) {
    list.push({ member: asText(flat[at], 'ZRANGE'), score: asNumber(flat[at + 1], 'ZRANGE') });
  }
  return list;
}
