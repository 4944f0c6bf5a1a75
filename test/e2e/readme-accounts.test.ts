import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { fencepost } from '../helpers/fencepost.ts';
import { redisDo, redisPort } from '../helpers/redis.ts';
import { useLab } from '../helpers/servers.ts';

const readme = await readFile(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8');
const accounts = [...readme.matchAll(/^ACL SETUSER .*$/gm)].map(([line]) =>
  line.replace('>…', '>secret').split(' '),
);
const redis = useLab({ system: 'redis' });
const uuid = '6e1c2d34-0a1b-4c5d-8e9f-a0b1c2d3e4f5:51';

beforeAll(async () => {
  await redisDo(
    redis,
    ...accounts,
    ['SET', 'lock:plain', '9f31c0a7d2e84b5fa1c6'],
    ['HSET', 'order:1', uuid, '1'],
    ['PEXPIRE', 'order:1', '600000'],
  );
});

function at(user: string): string {
  return `redis://${user}:secret@127.0.0.1:${redisPort(redis)}`;
}

/** The server's own log of refusals, as it is on the wire; `*0` is empty. */
async function refusals(): Promise<readonly string[]> {
  return redisDo(redis, ['ACL', 'LOG']);
}

describe('the accounts that the README gives', () => {
  test('are an inspector and a releaser', () => {
    expect(accounts.map(([, , name]) => name)).toEqual(['inspector', 'releaser']);
  });

  test('the inspector sees all there is, is refused nothing, and may not release', async () => {
    const target = ['--target', at('inspector')];
    const listed = await fencepost(['ls', '-o', 'name', ...target]);
    expect(listed.stdout.split('\n').sort()).toEqual(['', 'lock:plain', 'order:1']);
    for (const name of ['lock:plain', 'order:1']) {
      const shown = await fencepost(['show', name, '--observe', '1s', ...target]);
      expect(shown.code).toBe(0);
      expect(shown.stdout).not.toMatch(/may not|NOPERM|needs \+/);
      expect((await fencepost(['history', name, ...target])).code).toBe(0);
    }
    expect(await refusals()).toEqual(['*0']);
    const planned = await fencepost(['release', 'order:1', '--observe', 'off', ...target]);
    expect(planned.code).toBe(5);
    expect(planned.stdout).toContain('account-may-release');
  });

  test('the releaser releases what it saw, and is refused nothing', async () => {
    await redisDo(redis, ['ACL', 'LOG', 'RESET']);
    const target = ['--target', at('releaser')];
    for (const name of ['lock:plain', 'order:1']) {
      const shown = await fencepost(['show', name, '--observe', 'off', '-o', 'json', ...target]);
      const expected = /"expect": "([^"]+)"/.exec(shown.stdout)?.[1] ?? '';
      const overrides = ['no-renewal', 'owner-connection'].flatMap((guard) => [
        '--override',
        `${guard}=checked by hand`,
      ]);
      const bound = ['--expect', expected, '--confirm', name, '--execute', '--verify', '1s'];
      const observe = ['--observe', '1s'];
      const done = await fencepost([
        'release',
        name,
        ...bound,
        ...observe,
        ...overrides,
        ...target,
      ]);
      expect(done.stdout, done.stderr).toMatch(/^released/);
      expect(done.code).toBe(0);
    }
    expect(await refusals()).toEqual(['*0']);
  });
});
