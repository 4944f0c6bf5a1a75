import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../src/domain/random.ts';

const take = (count: number, next: () => number) => Array.from({ length: count }, next);

describe('seeded random numbers', () => {
  test('are the same for the same name, on every platform and version', () => {
    expect(take(3, seededRandom('root', 'step', 'jitter'))).toEqual(
      take(3, seededRandom('root', 'step', 'jitter')),
    );
    expect(seededRandom('root', 'step', 'jitter')().toFixed(9)).toBe('0.236084720');
  });

  test('differ by every part of the name, and by where one part ends', () => {
    const names = [['ab', 'c'], ['a', 'bc'], ['abc'], ['a', 'b', 'c'], ['ab', 'd']];
    const firsts = names.map((name) => seededRandom(...name)());
    expect(new Set(firsts).size).toBe(names.length);
  });

  test('fill [0, 1) evenly enough', () => {
    const draws = take(20_000, seededRandom('even'));
    expect(Math.min(...draws)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...draws)).toBeLessThan(1);
    const tenths = Array.from({ length: 10 }, () => 0);
    for (const draw of draws)
      tenths[Math.floor(draw * 10)] = (tenths[Math.floor(draw * 10)] ?? 0) + 1;
    for (const count of tenths) expect(Math.abs(count - 2000)).toBeLessThan(200);
  });
});
