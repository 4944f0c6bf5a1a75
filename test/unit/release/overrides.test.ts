import { describe, expect, test } from 'vitest';
import type { Guard } from '../../../src/release/guard.ts';
import { checkOverrides, parseOverrides, standing } from '../../../src/release/overrides.ts';

const soft: Guard = {
  name: 'owner-connection',
  level: 'soft',
  state: 'unknown',
  text: 'who knows',
};
const hard: Guard = { name: 'writable-side', level: 'hard', state: 'refused', text: 'a replica' };

describe('overrides', () => {
  test('a name and a reason, which may hold further equals signs', () => {
    expect([...parseOverrides(['owner-connection=pod=batch-7 is gone'])]).toEqual([
      ['owner-connection', 'pod=batch-7 is gone'],
    ]);
  });

  test.each(['owner-connection', 'owner-connection=', '=why', 'owner-connection=  '])(
    '`%s` lacks its name or its reason',
    (text) => {
      expect(() => parseOverrides([text])).toThrow('is not GUARD=REASON');
    },
  );

  test.each(['no-such-guard=x', 'audit-record=x', 'name-confirmed=x', 'fence=x'])(
    '`%s` names nothing that can be overridden',
    (text) => {
      expect(() => parseOverrides([text])).toThrow('is no guard that can be overridden');
    },
  );

  test('a guard that is hard here is not overridden by what would do while it is soft', () => {
    const overrides = parseOverrides(['writable-side=x']);
    expect(() => {
      checkOverrides(overrides, [hard]);
    }).toThrow('cannot be overridden here: a replica');
    expect(standing([hard], overrides)).toEqual([hard]);
  });

  test('only the soft guard that is named steps aside', () => {
    expect(standing([soft, hard], parseOverrides(['owner-connection=checked']))).toEqual([hard]);
    expect(standing([soft], parseOverrides(['no-renewal=checked']))).toEqual([soft]);
  });
});
