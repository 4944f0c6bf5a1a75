/** Ranges of keys, as etcd writes them. */
import { textToBytes, type Text } from '../../domain/text.ts';

/** From `from` up to, not including, `end`; `end` undefined: exactly the key `from`. */
export interface KeyRange {
  readonly from: Uint8Array;
  readonly end: Uint8Array | undefined;
}

/** Every key: etcd's own way to write it. */
export const everyKey: KeyRange = { from: Uint8Array.of(0), end: Uint8Array.of(0) };

/** The exact key. */
export function keyRange(key: Text): KeyRange {
  return { from: textToBytes(key), end: undefined };
}

/** Every key that begins with `prefix`; the empty prefix is every key. */
export function prefixRange(prefix: Uint8Array): KeyRange {
  if (prefix.length === 0) return everyKey;
  const end = Uint8Array.from(prefix);
  for (let at = end.length - 1; at >= 0; at -= 1) {
    const byte = end[at] ?? 0;
    if (byte < 0xff) {
      end[at] = byte + 1;
      return { from: prefix, end: end.subarray(0, at + 1) };
    }
  }
  return { from: prefix, end: Uint8Array.of(0) };
}
