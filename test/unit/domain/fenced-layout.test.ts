/** Key names of our fenced lock: they must be read back from any name. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fencedKeys, parseFencedKey } from '../../../src/domain/fenced-layout.ts';

test('every key of a lock gives back its name and its part, whatever the name holds', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (name) => {
      const keys = fencedKeys(name);
      expect(parseFencedKey(keys.lock)).toEqual({ name, part: 'lock' });
      expect(parseFencedKey(keys.fence)).toEqual({ name, part: 'fence' });
      expect(parseFencedKey(keys.history)).toEqual({ name, part: 'history' });
    }),
  );
});

test('keys of other layouts, and one without a name, are none of ours', () => {
  expect(parseFencedKey('lock:orders')).toBeUndefined();
  expect(parseFencedKey('fencepost:{}:lock')).toBeUndefined();
  expect(parseFencedKey('fencepost:{a}:other')).toBeUndefined();
});
