import { describe, expect, test } from 'vitest';
import { parseLabSpec, printableSpec } from '../../../src/lab/lab-spec.ts';

describe('parseLabSpec', () => {
  test('takes one member and no options unless told otherwise', () => {
    expect(parseLabSpec('etcd', undefined, [])).toEqual({
      system: 'etcd',
      members: 1,
      options: {},
    });
  });

  test('keeps everything after the first "=" as the value, also nothing', () => {
    const spec = parseLabSpec('redis', '1', ['user=alice on >a=b ~*', 'save=']);
    expect(spec.options).toEqual({ user: 'alice on >a=b ~*', save: '' });
  });

  test.each([
    ['reddis', '1', [], 'did you mean redis?'],
    ['mongodb', '1', [], 'it can start redis, etcd, zookeeper'],
    ['redis', '3', [], '--members 1'],
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
