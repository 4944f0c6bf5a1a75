import { describe, expect, test } from 'vitest';
import { JuteFrames, JuteReader, JuteWriter } from '../../../src/clients/zookeeper/jute.ts';

const frame = new JuteWriter()
  .int(-7)
  .long(2n ** 63n)
  .bool(true)
  .string('é')
  .frame();

describe('jute', () => {
  test('numbers beyond 2^53 and texts come back as they were written', () => {
    const reader = new JuteReader(
      new JuteWriter()
        .int(-7)
        .long(-(2n ** 62n))
        .string('é')
        .frame(),
    );
    expect([reader.int(), reader.long(), reader.string()]).toEqual([-7, -(2n ** 62n), 'é']);
  });

  test('a null text is an empty one', () => {
    expect(new JuteReader(new JuteWriter().int(-1).frame()).string()).toBe('');
  });

  test('frames come out whole wherever the stream was cut', () => {
    const stream = Buffer.concat([frame, frame]);
    for (let cut = 0; cut <= stream.length; cut += 1) {
      const frames = new JuteFrames();
      const pushed = [stream.subarray(0, cut), stream.subarray(cut)].map((one) => frames.push(one));
      expect(pushed.flat()).toEqual([frame, frame]);
    }
  });

  test('a frame that ends inside a value is refused', () => {
    const reader = new JuteReader(new JuteWriter().int(100).frame());
    expect(() => reader.bytes()).toThrow(RangeError);
  });
});
