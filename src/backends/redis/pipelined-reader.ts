/**
 * The same pages by plain pipelined commands, for accounts that may run no script. Each key is read
 * in rounds, so it may change between them: one that does is left out, as if it had gone.
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

/** Named keys; `members` also reads lists, and sets beyond their first member. */
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

/** Contents in two rounds: what is bounded at once, then what was found to be small enough. */
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
  const first = await sendGrouped(
    sender,
    seen.map((one) => firstCommands(one, members)),
    how,
  );
  const second = await sendGrouped(
    sender,
    seen.map((one, index) => secondCommands(one, first[index] ?? [])),
    how,
  );
  return seen.flatMap(({ key, type, pttl }, index) => {
    const content = contentOf(type, first[index] ?? [], second[index] ?? []);
    // Gone or another type by now: as if it had not been seen.
    if (content instanceof Error) return [];
    return [toRecord(bytesToText(key), type, pttl, content, serverTimeMs)];
  });
}

/** The content as the scripts give it, or why it could not be had. */
function contentOf(
  type: RedisType,
  [answer = 0, more]: readonly unknown[],
  [last]: readonly unknown[],
): unknown {
  if (last !== undefined) return last;
  const hasMembers = type === 'list' || type === 'zset' || type === 'set';
  if (!hasMembers || typeof answer !== 'number' || more === undefined) return answer;
  if (more instanceof Error) return more;
  const members = asArray(more, type);
  const big = members.some(
    (member) => Buffer.isBuffer(member) && member.length > contentLimits.stringBytes,
  );
  return big ? answer : [answer, ...members];
}

/** Sends all groups at once; their answers, grouped alike. */
async function sendGrouped(
  sender: Sender,
  groups: readonly (readonly Command[])[],
  how: RequestOptions,
): Promise<unknown[][]> {
  const answers = await sender.sendAll(groups.flat(), how);
  let at = 0;
  return groups.map((group) => answers.slice(at, (at += group.length)));
}

function firstCommands({ key, type }: Seen, members: boolean): Command[] {
  if (type === 'string') return [['GETRANGE', key, 0, contentLimits.stringBytes]];
  if (type === 'hash')
    return [
      ['HLEN', key],
      ['MEMORY', 'USAGE', key],
    ];
  // Without members one of them is read all the same: it tells whether they are holders.
  const most = members ? contentLimits.members : 1;
  if (type === 'zset') {
    return [
      ['ZCARD', key],
      ['ZRANGE', key, 0, most - 1, 'WITHSCORES'],
    ];
  }
  if (type === 'set')
    return [
      ['SCARD', key],
      ['SRANDMEMBER', key, most],
    ];
  if (type !== 'list' || !members) return [];
  return [
    ['LLEN', key],
    ['LRANGE', key, 0, most - 1],
  ];
}

function secondCommands({ key, type }: Seen, [answer, bytes]: readonly unknown[]): Command[] {
  if (type === 'string' && Buffer.isBuffer(answer)) {
    return answer.length > contentLimits.stringBytes ? [['STRLEN', key]] : [];
  }
  if (type !== 'hash' || typeof answer !== 'number') return [];
  const tooBig =
    answer > contentLimits.hashFields ||
    (typeof bytes === 'number' && bytes > contentLimits.hashBytes);
  return tooBig ? [] : [['HGETALL', key]];
}

function isHiddenKey(answer: unknown): boolean {
  return isRefusal(answer) && answer.message.includes('access one of the keys');
}

function orThrow(answer: unknown): unknown {
  if (answer instanceof Error) throw answer;
  return answer;
}
