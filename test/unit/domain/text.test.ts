import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesToText, parseText, textToBytes } from '../../../src/domain/text.ts';

describe('server bytes as text', () => {
  test('every byte string comes back from its text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        expect(textToBytes(bytesToText(bytes))).toEqual(bytes);
      }),
    );
  });

  test('no control character, line break or bidirectional override survives', () => {
    const hostile = new TextEncoder().encode('a\n\u001b[31mred\u202e\u2028');
    expect(bytesToText(hostile)).toBe('a\\n\\x1b[31mred\\u{202e}\\u{2028}');
  });

  test('bytes that are not UTF-8 are shown one by one', () => {
    expect(bytesToText(Uint8Array.of(0x6c, 0xff, 0x6b, 0xc3))).toBe('l\\xffk\\xc3');
  });

  test('a name copied from the screen is the same name', () => {
    expect(parseText('l\\xffk')).toBe('l\\xffk');
    expect(parseText('back\\slash')).toBe('back\\\\slash');
  });
});
