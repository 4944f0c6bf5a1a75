/**
 * What the Redis protocols share: running a script as one request, and telling lock requests apart on the wire.
 */
import type { Reply, WireFormat, WireRequest } from './protocol.ts';
import { items, type RedisArgument, type RedisSender, type RedisValue } from './redis-link.ts';

/** A script's answer: its first word and the rest. */
export type ScriptReply = Reply<{ readonly word: string; readonly rest: readonly RedisValue[] }>;

/** EVAL with the whole text: never NOSCRIPT, never a second request. */
export async function runScript(
  link: Pick<RedisSender, 'send'>,
  script: string,
  keys: readonly string[],
  args: readonly RedisArgument[],
): Promise<ScriptReply> {
  const reply = await link.send('EVAL', script, keys.length, ...keys, ...args);
  if (reply.outcome !== 'ok') return reply;
  const [word, ...rest] = items(reply.value).length > 0 ? items(reply.value) : [reply.value];
  if (typeof word === 'string') return { outcome: 'ok', word, rest };
  return { outcome: 'unknown', code: 'bad-reply', detail: 'the script answered without a word' };
}

/** A word other than `ok` is a refusal by the script itself: nothing was written. */
export function refused(reply: ScriptReply & { readonly outcome: 'ok' }): Reply<never> {
  const [who] = reply.rest;
  return {
    outcome: 'fail',
    code: reply.word,
    ...(typeof who === 'string' ? { detail: `held by ${who}` } : {}),
  };
}

/** Milliseconds of a PTTL reply; 0 when the key has none or is gone. */
export function ttlOf(value: RedisValue): number {
  return typeof value === 'bigint' && value > 0n ? Number(value) : 0;
}

const markers = [
  ['-- fencepost:acquire', 'acquire'],
  ['-- fencepost:confirm', 'confirm'],
  ['-- fencepost:renew', 'renew'],
  ['-- fencepost:release', 'release'],
] as const;

/** RESP requests by the marker that opens each script; `SET … NX` is an acquire as well. */
export const redisWire: WireFormat = {
  framing: 'resp',
  requestAction({ bytes }: WireRequest) {
    const text = Buffer.from(bytes).toString('latin1');
    const marked = markers.find(([marker]) => text.includes(marker));
    if (marked !== undefined) return marked[1];
    return /^\*\d+\r\n\$3\r\nSET\r\n/i.test(text) ? 'acquire' : undefined;
  },
};
