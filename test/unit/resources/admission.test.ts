import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { admit } from '../../../src/resources/admission.ts';

const nobody = { owner: undefined, fence: undefined };

describe('whose token may write', () => {
  test('numbers decide, not text: 10 comes after 9', () => {
    const last = { owner: 'A', fence: 9n };
    expect(admit('greater', last, { owner: 'B', fence: 10n })).toBe('admitted');
    expect(admit('greater', { owner: 'B', fence: 10n }, last)).toBe('stale-token');
  });

  test('the first token of a subject is admitted, and one above 2^63 - 1 never', () => {
    expect(admit('greater', nobody, { owner: 'A', fence: 0n })).toBe('admitted');
    expect(admit('any', nobody, { owner: 'A', fence: 2n ** 63n })).toBe('token-out-of-range');
  });

  test('an equal token is the same grant only with the same owner', () => {
    const last = { owner: 'A', fence: 5n };
    expect(admit('greater-or-equal', last, last)).toBe('admitted');
    expect(admit('greater', last, last)).toBe('token-used');
    for (const rule of ['greater', 'greater-or-equal'] as const) {
      expect(admit(rule, last, { owner: 'B', fence: 5n })).toBe('fence-fault');
    }
  });

  test('only the control without protection admits a write without a token', () => {
    const asks = { owner: 'A', fence: undefined };
    expect(admit('any', { owner: 'B', fence: 5n }, asks)).toBe('admitted');
    expect(admit('greater-or-equal', nobody, asks)).toBe('no-token');
  });

  test('whatever the order of arrival, admitted tokens never fall', () => {
    const rule = fc.constantFrom('greater' as const, 'greater-or-equal' as const);
    const claims = fc.array(
      fc.record({ owner: fc.constantFrom('A', 'B'), fence: fc.bigInt(0n, 20n) }),
    );
    fc.assert(
      fc.property(rule, claims, (accept, arrivals) => {
        let last: Parameters<typeof admit>[1] = nobody;
        for (const asks of arrivals) {
          if (admit(accept, last, asks) !== 'admitted') continue;
          expect(asks.fence >= (last.fence ?? -1n)).toBe(true);
          if (asks.fence === last.fence) expect(asks.owner).toBe(last.owner);
          last = asks;
        }
      }),
    );
  });
});
