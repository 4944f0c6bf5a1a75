import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { everyKey, prefixRange, type KeyRange } from '../../../../src/backends/etcd/key-range.ts';
import { RangeSteps } from '../../../../src/backends/etcd/range-steps.ts';

/** Keys as etcd keeps them, and how many names it would have walked. */
class Store {
  readonly keys: readonly Buffer[];
  walked = 0;
  asked = 0;

  constructor(keys: Iterable<string>) {
    const unique = new Set([...keys].map((key) => Buffer.from(key, 'latin1').toString('hex')));
    this.keys = [...unique].map((key) => Buffer.from(key, 'hex')).sort((a, b) => a.compare(b));
  }

  range({ from, end }: KeyRange): readonly Buffer[] {
    const open = end?.length === 1 && end[0] === 0;
    const found = this.keys.filter(
      (key) => key.compare(from) >= 0 && (open || (end !== undefined && key.compare(end) < 0)),
    );
    this.walked += found.length;
    this.asked += 1;
    return found;
  }

  /** Reads a range step by step, in pages of `limit`. */
  read(range: KeyRange, limit: number): readonly Buffer[] {
    const steps = new RangeSteps(range);
    const read: Buffer[] = [];
    for (;;) {
      const found = this.range(steps.step());
      const page = found.slice(0, limit);
      read.push(...page);
      const more = found.length > limit;
      const answer = { more, count: found.length, returned: page.length };
      if (!steps.took({ ...answer, first: page[0], last: page.at(-1) }, limit)) return read;
    }
  }
}

function numbered(count: number, name: (n: number) => string): Store {
  return new Store(Array.from({ length: count }, (_, n) => name(n)));
}

describe('reading a range in steps', () => {
  test('gives every key once and in order, whatever the names', () => {
    // Few different bytes, the ends of the alphabet among them: long common beginnings and gaps.
    const byte = fc.constantFrom('\u0000', '/', 'a', 'b', '\u00fe', '\u00ff');
    const name = fc.string({ unit: byte, minLength: 1, maxLength: 9 });
    const names = fc.array(name, { maxLength: 200 });
    fc.assert(
      fc.property(names, name, fc.integer({ min: 1, max: 12 }), (all, prefix, limit) => {
        const store = new Store(all);
        for (const range of [everyKey, prefixRange(Buffer.from(prefix, 'latin1'))]) {
          expect(store.read(range, limit)).toEqual(store.range(range));
        }
      }),
    );
  });

  test.each([
    ['decimal numbers', numbered(5000, (n) => `bench/lock-${n}/694d`)],
    ['hexadecimal names', numbered(5000, (n) => `l/${((n * 2654435761) >>> 0).toString(16)}`)],
    ['tenants of many sizes', numbered(5000, (n) => `t${Math.floor(Math.sqrt(n))}/lock/${n}`)],
    ['names that end alike', numbered(5000, (n) => `${n}/orders/lock`)],
  ])('walks a small multiple of the keys, not their square: %s', (_, store) => {
    expect(store.read(everyKey, 50)).toHaveLength(5000);
    // In pages of the rest it would be 50 times the keys.
    expect(store.walked / 5000).toBeLessThan(12);
    expect(store.asked).toBeLessThan(3 * (5000 / 50));
  });

  test('a short range is read at once', () => {
    const store = numbered(40, (n) => `lock-${n}`);
    expect(store.read(prefixRange(Buffer.from('lock-')), 50)).toHaveLength(40);
    expect(store.asked).toBe(1);
  });
});
