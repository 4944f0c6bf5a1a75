/** Reads the shapes of Redis replies: bytes, numbers and arrays, or a clear complaint. */
import { bytesToText, type Text } from '../../domain/text.ts';
import { badReply } from './errors.ts';

/** @throws {TargetError} `bad-reply` */
export function asBuffer(reply: unknown, what: string): Buffer {
  if (Buffer.isBuffer(reply)) return reply;
  if (typeof reply === 'number') return Buffer.from(String(reply));
  throw badReply(what);
}

/** A server's number: an integer reply, or digits in a string. @throws {TargetError} `bad-reply` */
export function asNumber(reply: unknown, what: string): number {
  const number = typeof reply === 'number' ? reply : Number(asBuffer(reply, what).toString());
  if (Number.isNaN(number)) throw badReply(what);
  return number;
}

/** @throws {TargetError} `bad-reply` */
export function asArray(reply: unknown, what: string): readonly unknown[] {
  if (Array.isArray(reply)) return reply;
  throw badReply(what);
}

/** @throws {TargetError} `bad-reply` */
export function asText(reply: unknown, what: string): Text {
  return bytesToText(asBuffer(reply, what));
}

/** Lines `name:value` of INFO, or `name=value` pairs of CLIENT LIST. */
export function parsePairs(text: string, between: RegExp, sign: ':' | '='): Map<string, string> {
  const pairs = new Map<string, string>();
  for (const line of text.split(between)) {
    const at = line.indexOf(sign);
    if (at > 0) pairs.set(line.slice(0, at), line.slice(at + 1).trim());
  }
  return pairs;
}
