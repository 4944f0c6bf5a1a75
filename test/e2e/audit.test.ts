import { beforeAll, describe, expect, test } from 'vitest';
import { fencepost } from '../helpers/fencepost.ts';
import { redisDo, redisPort } from '../helpers/redis.ts';
import { useLab } from '../helpers/servers.ts';

const redis = useLab({ system: 'redis' });

beforeAll(async () => {
  await redisDo(redis, ['ACL', 'SETUSER', 'reader', 'on', '>pw', '~*', '&*', '+@read']);
});

const audit = (target: string, ...args: readonly string[]) =>
  fencepost(['audit', '--target', target, ...args]);
const asReader = (): string => `redis://reader:pw@127.0.0.1:${redisPort(redis)}`;

describe('fencepost audit', () => {
  test('exits 0 when what was asked for passes, and prints it', async () => {
    const { stdout, code } = await audit(redis.target, '--check', 'R04,R09');
    expect(stdout).toMatch(/^Audit of redis:.*\npass .*R04.*\npass .*R09.*\n2 passed · 0 failed/);
    expect(code).toBe(0);
  });

  test('exits 1 for a failure, unless it is below --fail-on', async () => {
    const failing = await audit(redis.target, '--check', 'X03', '-o', 'junit');
    expect(failing.stdout).toContain('failures="1"');
    expect(failing.code).toBe(1);
    const below = await audit(redis.target, '--check', 'X03', '--fail-on', 'high');
    expect(below.stdout).toMatch(/^FAIL +med +X03/m);
    expect(below.code).toBe(0);
  });

  test('exits 3 for what was refused, unless that is allowed', async () => {
    const refused = await audit(asReader(), '--check', 'R04');
    expect(refused.stdout).toMatch(/^UNKN .*needs \+config\|get$/m);
    expect(refused.code).toBe(3);
    const allowed = await audit(asReader(), '--check', 'R04', '--allow-unknown', 'r04');
    expect(allowed.stdout).toMatch(/^UNKN .*\(allowed\)$/m);
    expect(allowed.code).toBe(0);
  });

  test('refuses a target that it has no checks for in one sentence', async () => {
    const { stdout, stderr, code } = await audit('redis+cluster://127.0.0.1:1');
    expect({ stdout, code }).toEqual({ stdout: '', code: 2 });
    expect(stderr).toMatch(/^fencepost: audit knows one Redis server .*: not redis\+cluster:/);
  });

  test('lists and explains its checks without a target', async () => {
    const listed = await fencepost(['audit', '--list', '--skip', 'R01'], { FENCEPOST_TARGET: '' });
    expect(listed.stdout).toMatch(/^ID +SEVERITY +CHECK +READS\nR02 /);
    const { stdout, code } = await fencepost(['audit', '--explain', 'R04']);
    expect(stdout).toMatch(/^R04 .*\n {2}why .*\n {2}reads .*maxmemory-policy.*\n {2}fix /);
    expect(code).toBe(0);
  });
});
