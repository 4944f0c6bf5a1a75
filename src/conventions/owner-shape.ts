/**
 * What an owner value looks like: random enough to name one holder, or a constant that every
 * holder writes alike; and whether it tells where its owner runs. A judgement from the outside.
 */
import type { OwnerPlace } from '../domain/holder.ts';
import { known, unknown, type Known } from '../domain/known.ts';
import { stringToText, type Text } from '../domain/text.ts';

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;
/** A long run with digits and letters mixed: hex, base64, or a generated id. */
const longRun = /[A-Za-z0-9+/_=-]{16,}/g;

const constants: readonly (readonly [RegExp, string])[] = [
  [/^$/, 'is empty'],
  [/^[[{]/, 'is a document, not a token'],
  [/^(?:true|false|ok|yes|no|null|locked?)$/i, 'is a constant word'],
  [/^[+-]?\d+(?:\.\d+)?$/, 'is a number or a time'],
  [/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/, 'is a time'],
];

/**
 * Why this value cannot tell two holders apart, or undefined when it looks random.
 * A word, a host name, a number, a time or a JSON document may be the same for the next holder.
 */
export function weakness(value: Text): string | undefined {
  if (uuid.test(value)) return undefined;
  const constant = constants.find(([shape]) => shape.test(value));
  if (constant !== undefined) return constant[1];
  // Bytes that are no text are somebody's random bytes.
  if ((value.match(/\\x[0-9a-f]{2}|\\u\{/g)?.length ?? 0) >= 4) return undefined;
  if (value.match(longRun)?.some(isMixed) === true) return undefined;
  return value.length < 16 ? 'is short' : 'looks like a name';
}

function isMixed(run: string): boolean {
  const digits = run.replace(/\D/g, '').length;
  const capitals = run.replace(/[^A-Z]/g, '').length;
  const letters = run.replace(/[^A-Za-z]/g, '').length;
  const mixedCase = capitals > 1 && letters - capitals > 1;
  return digits >= 4 || (mixedCase && digits > 0) || (mixedCase && run.length >= 20);
}

const address =
  /(?<![\d.])((?:\d{1,3}\.){3}\d{1,3})(?::(\d{1,5}))?(?![\d.])|@([A-Za-z][A-Za-z0-9.-]*)(?::|$)/;

/** The host that the value names: an IPv4 address, or `@host`; unknown for a random token. */
export function placeInValue(value: Text): Known<OwnerPlace> {
  const match = address.exec(value);
  const host = match?.[1] ?? match?.[3];
  if (host === undefined) return unknown('the owner value names no host');
  return known({ host: stringToText(host), source: 'value' });
}
