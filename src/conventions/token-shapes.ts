/**
 * Shapes of owner tokens, told apart by length and alphabet. A shape says how a token was made, not
 * which library made it: several libraries share one.
 */
import type { Text } from '../domain/text.ts';
import { timeUuidHex } from './time-uuid.ts';

/**
 * `uuid1-hex`: 32 hex digits of a time-based UUID (time-uuid.ts); `hex-32`: any other 16 bytes. `base64-16` has its
 * `==`, `url-base64-16` has no padding, `base64-18` needs none.
 */
export type TokenShape =
  | 'uuid'
  | 'uuid1-hex'
  | 'hex-32'
  | 'base64-16'
  | 'url-base64-16'
  | 'base64-18'
  | 'alphanumeric-16'
  | 'alphanumeric-20';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const hex = /^[0-9a-f]{32}$/;
// The last character of 16 bytes carries two bits only.
const base64 = /^[A-Za-z0-9+/]{21}[AQgw]==$/;
const urlBase64 = /^[A-Za-z0-9_-]{21}[AQgw]$/;
const urlBase64Head = /^[A-Za-z0-9_-]{21}[AQgw]/;
const base64Of18 = /^[A-Za-z0-9+/]{24}$/;
const alphanumeric = /^[A-Za-z0-9]+$/;

type Rule = readonly [shape: TokenShape, fits: (value: string) => boolean];

/** Nearly every value of a long listing is settled by its length. */
const rulesByLength = new Map<number, readonly Rule[]>([
  [16, [['alphanumeric-16', isRandomWord]]],
  [20, [['alphanumeric-20', isRandomWord]]],
  [22, [['url-base64-16', (value) => urlBase64.test(value) && isMixed(value)]]],
  [
    24,
    [
      ['base64-16', (value) => base64.test(value)],
      ['base64-18', (value) => base64Of18.test(value) && isMixed(value)],
    ],
  ],
  [
    32,
    [
      ['uuid1-hex', (value) => timeUuidHex.test(value)],
      ['hex-32', (value) => hex.test(value)],
    ],
  ],
  [36, [['uuid', (value) => uuid.test(value)]]],
]);

/** The latest answer: one convention after another asks about the same value. */
let latest: { readonly value: string; readonly shape: TokenShape | undefined } | undefined;

/** Undefined: none of these. */
export function tokenShape(value: Text | undefined): TokenShape | undefined {
  if (value === undefined) return undefined;
  if (latest?.value !== value) {
    const rules = rulesByLength.get(value.length);
    latest = { value, shape: rules?.find(([, fits]) => fits(value))?.[0] };
  }
  return latest.shape;
}

/** A `url-base64-16` token, whatever follows it. */
export function beginsWithToken(value: Text): boolean {
  return urlBase64Head.test(value) && isMixed(value.slice(0, 22));
}

function isRandomWord(value: string): boolean {
  return alphanumeric.test(value) && isMixed(value);
}

/** Capitals and small letters: a number, a word or a hex id is not. */
function isMixed(value: string): boolean {
  return /[A-Z]/.test(value) && /[a-z]/.test(value);
}
