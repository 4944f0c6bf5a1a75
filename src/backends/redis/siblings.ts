/** Reads what conventions want to see beside a record: helper keys, and subscribers of channels. */
import { known, unknown, type Known } from '../../domain/known.ts';
import { textToBytes, type Text } from '../../domain/text.ts';
import type {
  RedisConvention,
  RedisRecord,
  RedisSibling,
  RedisSiblingRequest,
} from '../../conventions/convention.ts';
import type { Command, RequestOptions, Sender } from './connection.ts';
import { isRefusal, isUnknownCommand } from './errors.ts';
import type { RecordReader } from './reader.ts';
import { asArray, asBuffer, asNumber } from './replies.ts';

/** Keys or channels asked for at once. */
const batch = 200;

/** For one lock in full, questions are asked that are too dear for each row of a listing. */
export interface SiblingOptions extends RequestOptions {
  readonly inFull?: boolean;
}

/** A record that has still to be completed by what its convention asks for. */
export interface Incomplete {
  readonly record: RedisRecord;
  readonly convention: RedisConvention;
}

/** The same records, in order, each with its siblings; absent keys are missing from the map. */
export async function withSiblings(
  sender: Sender,
  reader: RecordReader,
  wanted: readonly Incomplete[],
  how: SiblingOptions,
): Promise<RedisRecord[]> {
  const requests = wanted.map(({ record, convention }) => convention.siblings(record));
  const keys = namesOf(requests, 'key');
  const channels = namesOf(requests, 'channel');
  const found = new Map<Text, RedisSibling>();
  for (let at = 0; at < keys.length; at += batch) {
    const page = await reader.keys(keys.slice(at, at + batch), how);
    for (const one of page.records) if (one.type !== 'none') found.set(one.key, one);
  }
  for (const [key, subscribers] of await countSubscribers(sender, channels, how)) {
    found.set(key, { key, type: 'none', ttlMs: undefined, subscribers });
  }
  const blocking = namesOf(requests, 'blocked');
  if (how.inFull === true && blocking.length > 0) {
    const blocked = await countBlocked(sender, how);
    for (const key of blocking) {
      found.set(key, { ...(found.get(key) ?? { key, type: 'none', ttlMs: undefined }), blocked });
    }
  }
  return wanted.map(({ record }, index) => ({
    ...record,
    siblings: new Map(
      (requests[index] ?? []).flatMap(({ key }) => {
        const one = found.get(key);
        return one === undefined ? [] : [[key, one] as const];
      }),
    ),
  }));
}

function namesOf(
  requests: readonly (readonly RedisSiblingRequest[])[],
  what: RedisSiblingRequest['what'],
): Text[] {
  return [...new Set(requests.flat().flatMap((one) => (one.what === what ? [one.key] : [])))];
}

/**
 * Subscribers of each channel. The sharded kind counts too (7.0 and later): Redisson uses it where
 * it can. A refusal leaves all of them unknown.
 */
async function countSubscribers(
  sender: Sender,
  channels: readonly Text[],
  how: RequestOptions,
): Promise<Map<Text, Known<number>>> {
  const counts = new Map<Text, Known<number>>();
  for (let at = 0; at < channels.length; at += batch) {
    const part = channels.slice(at, at + batch);
    const names = part.map((channel) => Buffer.from(textToBytes(channel)));
    const ask = (subcommand: string): Command => ['PUBSUB', subcommand, ...names];
    const [plain, sharded] = await sender.sendAll([ask('NUMSUB'), ask('SHARDNUMSUB')], how);
    if (plain instanceof Error && !isRefusal(plain)) throw plain;
    for (const [index, channel] of part.entries()) {
      counts.set(
        channel,
        plain instanceof Error
          ? unknown('this account may not count subscribers', 'needs +pubsub|numsub')
          : known(countAt(plain, index) + (sharded instanceof Error ? 0 : countAt(sharded, index))),
      );
    }
  }
  return counts;
}

/** NUMSUB answers {channel, count, channel, count, …} in the order asked. */
function countAt(reply: unknown, index: number): number {
  return asNumber(asArray(reply, 'PUBSUB NUMSUB')[index * 2 + 1], 'PUBSUB NUMSUB');
}

/** Clients that sleep in a blocking pop of a list, whichever list it is. */
async function countBlocked(sender: Sender, how: RequestOptions): Promise<Known<number>> {
  const [answer] = await sender.sendAll([['CLIENT', 'LIST']], how);
  if (answer instanceof Error) {
    if (!isRefusal(answer) && !isUnknownCommand(answer)) throw answer;
    return unknown('this account may not list the clients', 'needs +client|list');
  }
  const rows = asBuffer(answer, 'CLIENT LIST').toString().split('\n');
  return known(rows.filter((row) => /\bcmd=b(?:[lr]pop|lmpop|rpoplpush|lmove)\b/.test(row)).length);
}
