/**
 * What an owner value looks like: random enough to name one holder, or a constant that every
 * holder writes alike; and whether it tells where its owner runs. A judgement from the outside.
 */
import type { OwnerPlace } from '../domain/holder.ts';
import { known, unknown, type Known } from '../domain/known.ts';
import type { LockNote } from '../domain/lock.ts';
import { stringToText, type Text } from '../domain/text.ts';

/** What a random token never is, and other layouts write for every holder alike. */
const constants: readonly (readonly [RegExp, string])[] = [
  [/^$/, 'is empty'],
  [/^[[{]/, 'is a document, not a token'],
  [/^(?:true|false|ok|yes|no|null|locked?)$/i, 'is a constant word'],
  [/^[+-]?\d+(?:\.\d+)?$/, 'is a number or a time'],
  [/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/, 'is a time'],
];
const anyConstant = new RegExp(constants.map(([shape]) => shape.source).join('|'), 'i');

/** A number or a document: what a cache or a counter holds, and no token does. */
export function looksLikeData(value: Text): boolean {
  return /^(?:[[{]|[+-]?\d+(?:\.\d+)?$)/.test(value);
}

/**
 * Why this value cannot tell two holders apart, or undefined when it looks random.
 * A word, a host name, a number, a time or a JSON document may be the same for the next holder.
 */
export function weakness(value: Text): string | undefined {
  if (anyConstant.test(value)) {
    return constants.find(([shape]) => shape.test(value))?.[1] ?? 'is a constant';
  }
  return hasRandomRun(value) ? undefined : value.length < 16 ? 'is short' : 'looks like a name';
}

/**
 * For layouts whose release compares the record itself (revisions, czxid): the owner value is only
 * a name, and other holders may write the same one.
 */
export function sharedOwnerNote(compared: string): LockNote {
  return {
    code: 'owner-not-unique',
    severity: 'info',
    text: `the owner value is a name, not a token: other holders may write the same; a release compares ${compared}`,
  };
}

/**
 * A UUID, or a run of twelve characters with the mix that generated ids have: four digits, or
 * capitals among small letters. Hyphens end a run: `app-7d4b9c6f5-x2x9z` names a pod, not a grant.
 * Bytes that are no text (`\xNN`) are random bytes.
 */
function hasRandomRun(value: Text): boolean {
  if (value.length < 16) return false;
  // Asked for each of a million values: what cannot match is not tried.
  if (value.includes('-') && uuid.test(value)) return true;
  if (value.includes('\\') && rawBytes.test(value)) return true;
  return (value.match(longRun) ?? []).some(
    (run) => fourDigits.test(run) || (mixedCase.test(run) && (run.length >= 20 || /\d/.test(run))),
  );
}

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;
const rawBytes = /(?:\\x[0-9a-f]{2}.*?){4}/;
const longRun = /[A-Za-z0-9+/_=]{12,}/g;
const fourDigits = /(?:\d[^\d]*){4}/;
const mixedCase = /[A-Z].*[a-z].*[A-Z]|[a-z].*[A-Z].*[a-z]/;

const address =
  /(?<![\d.])((?:\d{1,3}\.){3}\d{1,3})(?::(\d{1,5}))?(?![\d.])|@([A-Za-z][A-Za-z0-9.-]*)(?::|$)/;

const namesNoHost = unknown('the owner value names no host');

/** The host that the value names: an IPv4 address, or `@host`; unknown for a random token. */
export function placeInValue(value: Text): Known<OwnerPlace> {
  // Most values are tokens without either: no need for the expression.
  if (!value.includes('.') && !value.includes('@')) return namesNoHost;
  const match = address.exec(value);
  const host = match?.[1] ?? match?.[3];
  return host === undefined ? namesNoHost : known({ host: stringToText(host), source: 'value' });
}
