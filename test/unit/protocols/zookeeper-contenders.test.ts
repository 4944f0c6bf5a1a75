import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringToText } from '../../../src/domain/text.ts';
import { contendersOf, isOf, namePrefix } from '../../../src/protocols/zookeeper-contenders.ts';

const [a, b, c] = ['a', 'b', 'c'].map((name) => namePrefix(stringToText(name)));

describe('contenders of a ZooKeeper queue', () => {
  test('stand in the order of their numbers, whatever their names sort like', () => {
    const [first, second] = [a, b].sort();
    const children = [`${first ?? ''}0000000012`, `${second ?? ''}0000000007`];
    expect(contendersOf(children).map(({ sequence }) => sequence)).toEqual([7, 12]);
  });

  test('go on past 2147483647, where the server writes negative numbers, and round to zero', () => {
    const ends = ['2147483646', '2147483647', '-2147483648', '-2147483647'];
    const children = ends.map((digits) => `${a ?? ''}${digits}`);
    expect(contendersOf([...children].reverse()).map(({ name }) => name)).toEqual(children);
    const round = ['-000000001', '0000000000'].map((digits) => `${b ?? ''}${digits}`);
    expect(contendersOf([...round].reverse()).map(({ name }) => name)).toEqual(round);
  });

  test('are found by the owner token they were made for, and by no other', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        const [token, stranger] = [stringToText(one), stringToText(other)];
        const [contender] = contendersOf([`${namePrefix(token)}0000000001`]);
        expect(contender && isOf(contender, token)).toBe(true);
        expect(contender && isOf(contender, stranger)).toBe(token === stranger);
      }),
    );
  });

  test('are not what other recipes leave beside them', () => {
    const strangers = ['lock-0000000001', 'config', '0a1b__lock__0000000001', `${c ?? ''}x`];
    expect(contendersOf(strangers)).toEqual([]);
  });
});
