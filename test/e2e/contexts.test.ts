/** Targets by name: a context's URL, password and layouts, on a real server. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rawRedis } from '../contract/redis/redis-seeder.ts';
import { fencepost } from '../helpers/fencepost.ts';
import { useLab } from '../helpers/servers.ts';

const lab = useLab({ system: 'redis' });
let raw: Redis;
let folder = '';
let config = '';

beforeAll(async () => {
  raw = rawRedis(lab.target);
  await raw.set('lock:home-made', 'w1-6e1c2d340a1b5f7e', 'PX', 600_000);
  await raw.hset('order:42', '6e1c2d34-0a1b-4c5d-8e9f-a0b1c2d3e4f5:51', '1');
  await raw.pexpire('order:42', 600_000);
  await raw.set('redisson_lock_token:{order:42}', '17');
  await raw.call('ACL', 'SETUSER', 'op', 'on', '>pass-word', '~*', '&*', '+@all');
  folder = await mkdtemp(join(tmpdir(), 'fencepost-contexts-'));
  config = join(folder, 'mine.yaml');
  await writeFile(
    config,
    `version: 1
contexts:
  all: { target: "${lab.target}" }
  java: { target: "${lab.target}", username: op, password: { env: OP_PASSWORD }, conventions: [redisson*] }
  wrong: { target: "${lab.target}", conventions: [redison] }
`,
  );
});
afterAll(async () => {
  await raw.quit();
  await rm(folder, { recursive: true, force: true });
});

const env = { OP_PASSWORD: 'pass-word' };
const on = (context: string, ...args: string[]) =>
  fencepost([...args, '--context', context], { FENCEPOST_CONFIG: config, ...env });

describe('a context', () => {
  test('stands for its URL, account and layouts', async () => {
    expect((await on('all', 'ls', '-o', 'name')).stdout.trimEnd().split('\n').sort()).toEqual([
      'lock:home-made',
      'order:42',
    ]);
    expect((await on('java', 'ls', '-o', 'name')).stdout).toBe('order:42\n');
    const shown = await on('java', 'show', 'lock:home-made', '--observe', 'off');
    expect(shown.stdout).toContain('no lock layout recognised');
    expect((await on('java', 'release', 'lock:home-made')).code).toBe(5);
  });

  test('a layout that is named is read all the same, and the next command names the context', async () => {
    const args = ['lock:home-made', '--convention', 'plain', '--observe', 'off'];
    const { stdout, code } = await on('java', 'show', ...args, '--config', config);
    expect(code).toBe(0);
    expect(stdout).toContain(`--context java --config ${config}`);
  });

  test.each([
    [['--context', 'jav'], 'there is no context "jav"', 'did you mean "java"?'],
    [['--context', 'wrong'], '"redison" fits no lock layout', 'did you mean "redisson"?'],
    [['--context', 'all', '--target', 'redis://h'], 'not both', 'leave one of them out'],
    [['--context', 'all', '--config', '/nowhere.yaml'], 'cannot read the config file', '--config'],
  ])('%s: nothing is asked, and it is said what to do', async (args, told, hint) => {
    const { stderr, code } = await fencepost(['ls', ...args], { FENCEPOST_CONFIG: config });
    expect(code).toBe(2);
    expect(stderr).toContain(told);
    expect(stderr).toContain(hint);
  });

  test('a password that is nowhere is told by the name of its variable', async () => {
    const { stderr, code } = await fencepost(['ls', '--context', 'java'], {
      FENCEPOST_CONFIG: config,
    });
    expect(code).toBe(2);
    expect(stderr).toContain('OP_PASSWORD, which holds the password, is not set');
  });

  test('completion offers the names of the file', async () => {
    const { stdout } = await fencepost(['__complete', '--', 'ls', '--context', 'a'], {
      FENCEPOST_CONFIG: config,
    });
    expect(stdout).toBe('all\n');
  });
});
