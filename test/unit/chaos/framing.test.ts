import { describe, expect, test } from 'vitest';
import {
  linesFraming,
  respFraming,
  zooKeeperFraming,
  type Framing,
} from '../../../src/chaos/framing.ts';

function prefixed(body: Uint8Array): Buffer {
  const head = Buffer.alloc(4);
  head.writeInt32BE(body.length);
  return Buffer.concat([head, body]);
}

const xid = (value: number): Buffer => {
  const body = Buffer.alloc(12);
  body.writeInt32BE(value);
  return prefixed(body);
};

const resp = [
  '*3\r\n$3\r\nGET\r\n$1\r\nk\r\n$4\r\n\r\n\r\n\r\n',
  '+OK\r\n',
  '-ERR no\r\n',
  ':12\r\n',
  '$-1\r\n',
  '*-1\r\n',
  '*0\r\n',
  '_\r\n',
  '#t\r\n',
  ',1.5\r\n',
  '(123456789012345678901\r\n',
  '=8\r\ntxt:a\r\nb\r\n',
  '%2\r\n+a\r\n*2\r\n:1\r\n:2\r\n+b\r\n$0\r\n\r\n',
  '~2\r\n:1\r\n:2\r\n',
  '|1\r\n+ttl\r\n:3\r\n*1\r\n$2\r\n*9\r\n',
  '>2\r\n+message\r\n$1\r\nx\r\n',
].map((text) => Buffer.from(text, 'latin1'));

const cases: readonly (readonly [Framing, readonly Buffer[]])[] = [
  [respFraming, resp],
  [zooKeeperFraming, [xid(0), xid(1), prefixed(Buffer.alloc(0)), xid(-1)]],
  [linesFraming, [Buffer.from('{"a":"é"}\n'), Buffer.from('\n'), Buffer.from('{}\n')]],
];

describe.each(cases)('frames of $id', (framing, frames) => {
  const all = Buffer.concat(frames);

  test('come out whole and unchanged, however the stream is cut in two', () => {
    for (let cut = 0; cut <= all.length; cut += 1) {
      const splitter = framing.splitter();
      const out = [...splitter.push(all.subarray(0, cut)), ...splitter.push(all.subarray(cut))];
      expect(out.map(String)).toEqual(frames.map(String));
    }
  });

  test('come out whole when every byte arrives alone, each as soon as its last byte is there', () => {
    const splitter = framing.splitter();
    const ends: number[] = [];
    all.forEach((byte, at) => {
      splitter.push(Uint8Array.of(byte)).forEach(() => ends.push(at + 1));
    });
    let end = 0;
    expect(ends).toEqual(frames.map((frame) => (end += frame.length)));
  });
});

describe('pairing of replies with requests', () => {
  test('a RESP3 push and a ZooKeeper watch event answer nothing', () => {
    expect(respFraming.pairKey(Buffer.from('>1\r\n+x\r\n'), 'to-worker')).toBeUndefined();
    expect(zooKeeperFraming.pairKey(xid(-1), 'to-worker')).toBeUndefined();
  });

  test('a ZooKeeper reply finds its request by xid', () => {
    expect(zooKeeperFraming.pairKey(xid(7), 'to-worker')).toBe(
      zooKeeperFraming.pairKey(xid(7), 'to-server'),
    );
  });
});
