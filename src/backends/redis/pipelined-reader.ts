/**
 * The same pages by plain pipelined commands, for accounts that may run no script. Each key is read
 * in three rounds, so it may change between them: one that does is left out, as if it had gone.
 */
import { unknown, type Known } from '../../domain/known.ts';
import { bytesToText } from '../../domain/text.ts';
import type { RedisRecord, RedisType } from '../../conventions/convention.ts';
import type { Command, RequestOptions, Sender } from './connection.ts';
import { isRefusal } from './errors.ts';
import { parseTime, toRecord, typeNamed, type Page } from './page.ts';
import { asArray, asBuffer, asNumber } from './replies.ts';
import { contentLimits } from './scripts/read.ts';

/** One SCAN and everything about its keys. */
export async function pipelinedPage(
  sender: Sender,
  request: { readonly cursor: string; readonly match: Buffer | undefined; readonly count: number },
  how: RequestOptions,
): Promise<Page> {
  const { cursor, match, count } = request;
  const scan: Command = ['SCAN', cursor, 'COUNT', count];
  const reply = await sender.send(match === undefined ? scan : [...scan, 'MATCH', match], how);
  const [next, keys] = asArray(reply, 'SCAN');
  const found = asArray(keys, 'SCAN').map((key) => asBuffer(key, 'SCAN'));
  const page = await pipelinedKeys(sender, found, how, false);
  return { ...page, cursor: asBuffer(next, 'SCAN').toString(), scanned: count };
}

/** Named keys; `members` also reads lists and sorted sets. */
export async function pipelinedKeys(
  sender: Sender,
  keys: readonly Buffer[],
  how: RequestOptions,
  members = true,
): Promise<Page> {
  const answers = await sender.sendAll(
    [
      ...keys.flatMap((key): Command[] => [
        ['TYPE', key],
        ['PTTL', key],
      ]),
      ['TIME'],
    ],
    how,
  );
  const seen: Seen[] = [];
  let hidden = 0;
  for (const [index, key] of keys.entries()) {
    const [type, pttl] = [answers[index * 2], answers[index * 2 + 1]];
    if (isHiddenKey(type)) hidden += 1;
    else
      seen.push({
        key,
        type: typeNamed(asBuffer(orThrow(type), 'TYPE').toString()),
        pttl: asNumber(orThrow(pttl), 'PTTL'),
      });
  }
  const time = answers.at(-1);
  const serverTimeMs =
    time instanceof Error
      ? unknown('the server’s clock was refused', 'needs +time')
      : parseTime(time);
  return {
    cursor: '0',
    scanned: 0,
    hidden,
    serverTimeMs,
    records: await readContents(sender, { seen, members, serverTimeMs }, how),
  };
}

interface Seen {
  readonly key: Buffer;
  readonly type: RedisType;
  readonly pttl: number;
}

async function readContents(
  sender: Sender,
  wanted: {
    readonly seen: readonly Seen[];
    readonly members: boolean;
    readonly serverTimeMs: Known<number>;
  },
  how: RequestOptions,
): Promise<RedisRecord[]> {
  const { seen, members, serverTimeMs } = wanted;
  const asked = seen.map((one) => sizeCommands(one, members));
  const answers = await sender.sendAll(asked.flat(), how);
  let next = 0;
  const sized = seen.map((one, index) => {
    const [size, bytes] = answers.slice(next, (next += asked[index]?.length ?? 0));
    return { ...one, size, content: contentCommand(one, size, bytes) };
  });
  const contents = await sender.sendAll(
    sized.flatMap(({ content }) => (content === undefined ? [] : [content])),
    how,
  );
  next = 0;
  return sized.flatMap((one) => {
    const content = one.content === undefined ? undefined : contents[next++];
    // Gone or another type by now: as if it had not been seen.
    if (content instanceof Error || one.size instanceof Error) return [];
    const slot = contentSlot(one.type, one.size, content);
    return [toRecord(bytesToText(one.key), one.type, one.pttl, slot, serverTimeMs)];
  });
}

const sizeOf: Readonly<Partial<Record<RedisType, string>>> = {
  string: 'STRLEN',
  hash: 'HLEN',
  list: 'LLEN',
  zset: 'ZCARD',
};

/** Commands whose answers tell whether the content may be fetched; none when it is not wanted. */
function sizeCommands({ key, type }: Seen, members: boolean): Command[] {
  const command = sizeOf[type];
  if (command === undefined || (!members && (type === 'list' || type === 'zset'))) return [];
  const size: Command = [command, key];
  return type === 'hash' ? [size, ['MEMORY', 'USAGE', key]] : [size];
}

function contentCommand({ key, type }: Seen, size: unknown, bytes: unknown): Command | undefined {
  if (typeof size !== 'number') return undefined;
  if (type === 'string') {
    return size > contentLimits.stringBytes
      ? undefined
      : ['GETRANGE', key, 0, contentLimits.stringBytes];
  }
  if (type === 'hash') {
    const tooBig =
      size > contentLimits.hashFields ||
      (typeof bytes === 'number' && bytes > contentLimits.hashBytes);
    return tooBig ? undefined : ['HGETALL', key];
  }
  return type === 'list'
    ? ['LRANGE', key, 0, contentLimits.members - 1]
    : ['ZRANGE', key, 0, contentLimits.members - 1, 'WITHSCORES'];
}

/** The content as the scripts give it. */
function contentSlot(type: RedisType, size: unknown, content: unknown): unknown {
  if (content === undefined) return typeof size === 'number' ? size : 0;
  return type === 'list' || type === 'zset' ? [size, ...asArray(content, type)] : content;
}

function isHiddenKey(answer: unknown): boolean {
  return isRefusal(answer) && answer.message.includes('access one of the keys');
}

function orThrow(answer: unknown): unknown {
  if (answer instanceof Error) throw answer;
  return answer;
}
