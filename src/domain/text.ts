/**
 * Server bytes made safe. Everything a server sent (key names, owners, error texts) is
 * attacker-controlled; adapters turn it into `Text` at the edge, and only `Text` travels inward.
 * The escape is lossless: `textToBytes(bytesToText(b))` gives `b` back, so a name copied from the
 * screen can be given to the next command.
 */

declare const textBrand: unique symbol;

/** Printable, single-line, reversible form of a server's byte string. */
export type Text = string & { readonly [textBrand]: true };

const unsafe = /[\p{C}\p{Zl}\p{Zp}\\]/gu;

/** Escapes one decoded string: `\n`, `\r`, `\t`, `\\`, `\xNN` (control bytes), `\u{N}` (others). */
function escapeString(value: string): string {
  return value.replace(unsafe, (char) => {
    const named = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' }[char];
    if (named !== undefined) return named;
    const code = char.codePointAt(0) ?? 0;
    return code < 0x80 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
  });
}

/** Nothing but printable ASCII without the backslash: most names, and their own escape. */
const harmless = /^[ -[\]-~]*$/;
const encoder = new TextEncoder();
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Escapes server bytes: valid UTF-8 stays readable, every other byte becomes `\xNN`. */
export function bytesToText(bytes: Uint8Array): Text {
  try {
    const decoded = strict.decode(bytes);
    return (harmless.test(decoded) ? decoded : escapeString(decoded)) as Text;
  } catch {
    // Not UTF-8 as a whole: decode what can be decoded, byte by byte for the rest.
    return escapeMixed(bytes) as Text;
  }
}

function escapeMixed(bytes: Uint8Array): string {
  let out = '';
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes, at);
    if (length === 0) {
      out += `\\x${(bytes[at] ?? 0).toString(16).padStart(2, '0')}`;
      at += 1;
    } else {
      out += escapeString(strict.decode(bytes.subarray(at, at + length)));
      at += length;
    }
  }
  return out;
}

/** Length of the valid UTF-8 sequence starting at `at`, or 0. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  const length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
  if (length === 0 || at + length > bytes.length) return 0;
  try {
    strict.decode(bytes.subarray(at, at + length));
    return length;
  } catch {
    // An overlong or surrogate sequence: the caller shows its first byte as \xNN.
    return 0;
  }
}

const escapes = /\\(?:x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]{1,6})\}|([nrt\\]))/g;
const named: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, '\\': 92 };

/**
 * Reads a name as typed by a person or copied from our output back into bytes.
 * An escape that is not ours (`\q`) stands for itself.
 */
export function textToBytes(text: string): Uint8Array {
  if (!text.includes('\\')) return encoder.encode(text);
  const parts: Uint8Array[] = [];
  let last = 0;
  for (const match of text.matchAll(escapes)) {
    parts.push(encoder.encode(text.slice(last, match.index)));
    const [, byte, point, char] = match;
    if (byte !== undefined) parts.push(Uint8Array.of(parseInt(byte, 16)));
    else if (point !== undefined) parts.push(encoder.encode(codePoint(point)));
    else parts.push(Uint8Array.of(named[char ?? ''] ?? 0));
    last = match.index + match[0].length;
  }
  parts.push(encoder.encode(text.slice(last)));
  return concat(parts);
}

function codePoint(hex: string): string {
  const value = parseInt(hex, 16);
  return value <= 0x10ffff ? String.fromCodePoint(value) : `\\u{${hex}}`;
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Normalises a name given by a person: whatever escapes were typed, one canonical `Text`. */
export function parseText(typed: string): Text {
  if (harmless.test(typed)) return typed as Text;
  return bytesToText(textToBytes(typed));
}

/** Text from a string that a client library already decoded as UTF-8. */
export function stringToText(decoded: string): Text {
  return (harmless.test(decoded) ? decoded : escapeString(decoded)) as Text;
}
