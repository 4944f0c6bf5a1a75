import { describe, expect, test } from 'vitest';
import type { ZooKeeperChild, ZooKeeperRecord } from '../../../src/conventions/convention.ts';
import { curatorMutex, curatorReadWriteLock } from '../../../src/conventions/curator.ts';
import { kazooLock } from '../../../src/conventions/kazoo.ts';
import { valueOf } from '../../../src/domain/known.ts';
import { stringToText } from '../../../src/domain/text.ts';
import { parseSequence } from '../../../src/domain/zookeeper-sequence.ts';

function child(name: string, data: string, czxid: bigint, ephemeralOwner = 7n): ZooKeeperChild {
  return { name: stringToText(name), data: stringToText(data), czxid, version: 0, ephemeralOwner };
}

function record(children: readonly ZooKeeperChild[], data = ''): ZooKeeperRecord {
  return {
    system: 'zookeeper',
    path: stringToText('/locks/a'),
    node: child('a', data, 2n, 0n),
    cversion: children.length,
    children,
  };
}

const guid = (digit: string): string => `_c_${digit.repeat(8)}-2222-4333-8444-555555555555-`;

describe('ZooKeeper queues', () => {
  test('the lowest sequence holds, whatever the GUID before it sorts like', () => {
    const decoded = curatorMutex.decode(
      record([
        child(`${guid('0')}lock-0000000001`, '10.0.0.2', 12n),
        child(`${guid('1')}lock-0000000000`, '10.0.0.1', 11n),
      ]),
    );
    expect(valueOf(decoded.holders)?.map((holder) => holder.owner)).toEqual(['10.0.0.1']);
    expect(decoded.waiters).toMatchObject({
      kind: 'exact',
      list: [{ position: 1, owner: '10.0.0.2' }],
    });
    expect(decoded.fence).toEqual({ kind: 'token', token: 11n, source: 'czxid' });
  });

  test('a sequence that passed 2147483647 comes after it although it is written negative', () => {
    expect(parseSequence('2147483647')).toBe(2147483647);
    expect(parseSequence('-2147483648')).toBe(2147483648);
    expect(parseSequence('-000000039')).toBe(4294967257);
    // A number of the name itself: the server pads its own to ten characters.
    expect(parseSequence('-39')).toBeUndefined();
    // A hyphen and a padded number: a negative one of eleven characters begins with 1 or 2.
    expect(parseSequence('-0000000001')).toBeUndefined();
    const decoded = curatorMutex.decode(
      record([
        child(`${guid('0')}lock--2147483648`, 'b', 12n),
        child(`${guid('1')}lock-2147483647`, 'a', 11n),
      ]),
    );
    expect(valueOf(decoded.holders)?.[0]?.owner).toBe('a');
    expect(decoded.notes.map((note) => note.code)).toContain('sequence-wrapped');
  });

  test('a counter that came round to zero goes on after the last negative number', () => {
    const decoded = curatorMutex.decode(
      record([
        child(`${guid('0')}lock-0000000000`, 'b', 12n),
        child(`${guid('1')}lock--000000001`, 'a', 11n),
      ]),
    );
    expect(valueOf(decoded.holders)?.[0]?.owner).toBe('a');
  });

  test('readers before the first writer hold together; later readers wait behind it', () => {
    const decoded = curatorReadWriteLock.decode(
      record([
        child('_c_11aa-__READ__0000000000', 'w1', 3n, 1n),
        child('_c_22bb-__WRIT__0000000001', 'w2', 4n, 2n),
        child('_c_33cc-__READ__0000000002', 'w2', 5n, 2n),
      ]),
    );
    expect(decoded.mode).toBe('shared');
    expect(valueOf(decoded.holders)).toMatchObject([{ owner: 'w1', mode: 'read' }]);
    expect(decoded.waiters).toMatchObject({
      kind: 'exact',
      list: [
        { owner: 'w2', mode: 'write' },
        { owner: 'w2', mode: 'read' },
      ],
    });
  });

  test('a kazoo write lock waits for the readers before it', () => {
    const hex = (digit: string): string => digit.repeat(32);
    const decoded = kazooLock.decode(
      record([
        child(`${hex('1')}__rlock__0000000000`, 'r1', 3n),
        child(`${hex('0')}__rlock__0000000001`, 'r2', 4n),
        child(`${hex('8')}__lock__0000000002`, 'w1', 5n),
      ]),
    );
    expect(valueOf(decoded.holders)?.map((holder) => holder.owner)).toEqual(['r1', 'r2']);
    expect(decoded.waiters).toMatchObject({ kind: 'exact', list: [{ owner: 'w1' }] });
  });

  test('a persistent contender is never-ending, and said so', () => {
    const decoded = curatorMutex.decode(
      record([child(`${guid('1')}lock-0000000000`, 'a', 3n, 0n)]),
    );
    expect(decoded.state).toBe('no-ttl');
    expect(decoded.notes.map((note) => note.code)).toContain('persistent-contender');
  });

  test('a value overwritten by a revocation leaves the node name as the owner', () => {
    const name = `${guid('1')}lock-0000000000`;
    const decoded = curatorMutex.decode(record([child(name, '__REVOKE__', 3n)]));
    expect(valueOf(decoded.holders)?.[0]?.owner).toBe(name);
  });
});
