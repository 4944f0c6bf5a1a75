import { describe, expect, test } from 'vitest';
import { LineSplitter } from '../../../src/domain/line-splitter.ts';

describe('splitting a stream into lines', () => {
  test('lines come out whole, wherever the stream is cut', () => {
    const text = '{"a":1}\n\nlast but one\nunfinished';
    for (let cut = 0; cut <= text.length; cut += 1) {
      const splitter = new LineSplitter();
      const lines = [...splitter.push(text.slice(0, cut)), ...splitter.push(text.slice(cut))];
      expect(lines).toEqual(['{"a":1}', '', 'last but one']);
    }
  });

  test('a line without an end is refused instead of filling memory', () => {
    const splitter = new LineSplitter(10);
    splitter.push('0123456789');
    expect(() => splitter.push('x')).toThrow(/longer than 10/);
  });
});
