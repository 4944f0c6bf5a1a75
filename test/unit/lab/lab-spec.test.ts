import { describe, expect, test } from 'vitest';
import { labTopologies, parseLabSpec, printableSpec } from '../../../src/lab/lab-spec.ts';

describe('parseLabSpec', () => {
  test('takes one member and no options unless told otherwise', () => {
    expect(parseLabSpec('etcd', undefined, [])).toEqual({
      system: 'etcd',
      members: 1,
      tls: false,
      options: {},
    });
  });

  test('keeps everything after the first "=" as the value, also nothing', () => {
    const spec = parseLabSpec('redis', '1', ['user=alice on >a=b ~*', 'save=']);
    expect(spec.options).toEqual({ user: 'alice on >a=b ~*', save: '' });
  });

  test('gives each topology its usual number of servers', () => {
    const members = labTopologies.map((name) => parseLabSpec(name, undefined, []).members);
    expect(members).toEqual([1, 6, 6, 5, 1, 1]);
  });

  test('has TLS for Redis in every topology, and sends others to their own options', () => {
    expect(parseLabSpec('redlock', '3', [], true)).toMatchObject({ members: 3, tls: true });
    expect(() => parseLabSpec('etcd', '1', [], true)).toThrow(
      '--tls is for Redis labs, not for etcd',
    );
  });

  test.each([
    ['reddis', '1', [], 'did you mean redis?'],
    [
      'mongodb',
      '1',
      [],
      'it can start redis, redis-sentinel, redis-cluster, redlock, etcd, zookeeper',
    ],
    ['redis', '2', [], '--members 1 or 3'],
    ['redlock', '1', [], '--members 5 or 3'],
    ['redis-cluster', '3', [], '--members 6'],
    ['etcd', '2', [], '--members 1 or 3'],
    ['etcd', 'three', [], '--members 1 or 3'],
    ['zookeeper', '03', [], '--members 1 or 3'],
    ['redis', '1', ['maxmemory'], 'write --option name=value'],
    ['redis', '1', ['=1mb'], 'write --option name=value'],
    ['redis', '1', ['a b=1mb'], 'write --option name=value'],
    ['redis', '1', ['maxmemory=1mb\nport 1'], 'write it on one line'],
    ['redis', '1', ['port=6379'], 'leave it out'],
    ['zookeeper', '1', ['4lw=maybe'], 'write 4lw=on or 4lw=off'],
  ])('refuses %s with members %s and options %j', (system, members, options, hint) => {
    expect(() => parseLabSpec(system, members, options)).toThrow(
      expect.objectContaining({ exitCode: 2, hint: expect.stringContaining(hint) as string }),
    );
  });
});

test('a printed spec shows no password', () => {
  const options = ['requirepass=hunter2', 'user=alice on >hunter2', 'maxmemory=8mb'];
  const shown = printableSpec(parseLabSpec('redis', '1', options));
  expect(shown.options).toEqual({ requirepass: '***', user: '***', maxmemory: '8mb' });
});
