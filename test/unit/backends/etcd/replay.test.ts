/** The folding of events into past holders, and what a compaction in the middle of it leaves. */
import { describe, expect, test } from 'vitest';
import { Replay } from '../../../../src/backends/etcd/replay.ts';
import type { KeyEvent } from '../../../../src/clients/etcd/watch.ts';
import type { EtcdKey } from '../../../../src/conventions/convention.ts';
import { ConventionSet } from '../../../../src/conventions/convention-set.ts';
import { etcdConventions } from '../../../../src/conventions/etcd-index.ts';
import { parseText } from '../../../../src/domain/text.ts';

const first = { key: '/jobs/build/694d7a1b2c3d4e01', lease: 0x694d7a1b2c3d4e01n };
const second = { key: '/jobs/build/694d7a1b2c3d4e02', lease: 0x694d7a1b2c3d4e02n };
type Contender = typeof first;

function replay(): Replay {
  const conventions = new ConventionSet([], etcdConventions);
  return new Replay(conventions, parseText('/jobs/build'), 'prefix');
}

function put({ key, lease }: Contender, owner: string, at: number, created = at): KeyEvent {
  return event('Put', key, owner, at, created, lease);
}

function del({ key }: Contender, at: number): KeyEvent {
  return event('Delete', key, '', at, 0, 0n);
}

function event(
  type: KeyEvent['type'],
  key: string,
  value: string,
  at: number,
  created: number,
  lease: bigint,
): KeyEvent {
  const kv = {
    key: Buffer.from(key),
    value: Buffer.from(value),
    create_revision: String(created),
    mod_revision: String(at),
    version: '1',
    lease: String(lease),
  };
  return { type, kv, prev_kv: null };
}

function stored({ key, lease }: Contender, owner: string, created: number): EtcdKey {
  return {
    key: parseText(key),
    value: parseText(owner),
    createRevision: BigInt(created),
    modRevision: BigInt(created),
    version: 1n,
    lease,
  };
}

/** Each hold as `owner created how`. */
function told(of: Replay): readonly string[] {
  const { past, holding } = of.result();
  return [...past, ...(holding === undefined ? [] : [holding])].map(
    ({ owner, createRevision, ended }) => `${owner} ${createRevision} ${ended.how}`,
  );
}

describe('a replay', () => {
  test('takes the events of one revision as one step', () => {
    const one = replay();
    one.apply([put(first, 'a', 5), put(second, 'b', 6), del(first, 7), put(first, 'a', 7)]);
    expect(told(one)).toEqual(['a 5 deleted', 'b 6 holding']);
  });

  test('sees no new hold in a new value on the same lease', () => {
    const one = replay();
    one.apply([put(first, 'a', 5), put(first, 'a again', 6, 5)]);
    expect(told(one)).toEqual(['a again 5 holding']);
  });

  test('leaves open how a hold ended whose end was compacted away', () => {
    const one = replay();
    one.apply([put(first, 'a', 5)]);
    one.restart([stored(second, 'b', 8)], 9n);
    one.apply([del(second, 10)]);
    expect(told(one)).toEqual(['a 5 unknown', 'b 8 deleted']);
    expect(one.result().past[0]?.ended).toMatchObject({
      reason: 'it ended before revision 9, and that part of the history was compacted',
    });
  });

  test('goes on with a hold that outlived the compaction', () => {
    const one = replay();
    one.apply([put(first, 'a', 5)]);
    one.restart([stored(first, 'a', 5)], 9n);
    expect(told(one)).toEqual(['a 5 holding']);
  });
});
