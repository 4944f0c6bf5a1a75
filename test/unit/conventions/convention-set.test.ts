/** What a context's restriction of the layouts does, and what it must not do. */
import { expect, test } from 'vitest';
import { ownerOfHelper, recognise } from '../../../src/backends/redis/recognise.ts';
import { recognise as recogniseEtcd } from '../../../src/backends/etcd/recognise.ts';
import { ConventionSet } from '../../../src/conventions/convention-set.ts';
import { etcdConventions } from '../../../src/conventions/etcd-index.ts';
import { redisConventions } from '../../../src/conventions/redis-index.ts';
import { unknown } from '../../../src/domain/known.ts';
import { parseText } from '../../../src/domain/text.ts';

const isLockName = (): boolean => true;
const uuid1 = '5f1d3a2ab0c211eea1b20242ac120002';

test('records are read in the layouts that fit a glob, and in no other', () => {
  const string = {
    system: 'redis',
    key: parseText('lock:a'),
    type: 'string',
    ttlMs: 1_000,
    value: parseText(uuid1),
    siblings: new Map(),
    serverTimeMs: unknown('not asked'),
  } as const;
  const found = (only: readonly string[]) =>
    recognise(string, isLockName, new ConventionSet([], redisConventions, only))?.convention.id;
  expect(found(['redis-*'])).toBe('redis-py');
  expect(found(['node-redlock', 'plain'])).toBe('plain');
  expect(found(['redisson*'])).toBeUndefined();
});

test('whoever names a layout gets it, and helpers stay helpers', () => {
  const set = new ConventionSet([], redisConventions, ['plain']);
  expect(set.byId('redis-py').id).toBe('redis-py');
  const token = parseText('redisson_lock_token:{lock:a}');
  expect(ownerOfHelper(token, set)?.lock).toBe('lock:a');
});

test('what must never be released does not pass for a layout that may be', () => {
  const key = parseText('/service/pg/leader');
  const value = parseText('member-1');
  const leader = { key, value, createRevision: 1n, modRevision: 1n, version: 1n, lease: 7n };
  const found = recogniseEtcd(
    { system: 'etcd', name: key, keys: [leader] },
    isLockName,
    new ConventionSet([], etcdConventions, ['plain']),
  );
  expect(found?.convention.id).toBe('patroni');
});
