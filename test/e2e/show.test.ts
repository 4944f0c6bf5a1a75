import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { askRedis } from '../../src/lab/wire.ts';
import { fencepost, onTerminal, startFencepost, type Ran } from '../helpers/fencepost.ts';
import { redisDo, redisPort } from '../helpers/redis.ts';
import { useLab } from '../helpers/servers.ts';
import { until } from '../helpers/until.ts';

const redis = useLab({ system: 'redis' });

function show(...args: readonly string[]): Promise<Ran> {
  return fencepost(['show', '--target', redis.target, ...args]);
}

beforeAll(async () => {
  await redisDo(
    redis,
    ['SET', 'lock:import', 'worker'],
    ['SET', 'lock:export', 'worker', 'PX', '900000'],
    ['SET', 'sku:12', '{"price":3}', 'PX', '600000'],
    ['RPUSH', 'queue:mail', 'a', 'b'],
    ['HSET', 'invoice:close', '7d1b2c3d-0000-4000-8000-1234567890ab:31', '2'],
    ['PEXPIRE', 'invoice:close', '120000'],
  );
});

describe('a lock in full', () => {
  test('without a TTL it stays, and a shared owner value is a weak guard', async () => {
    const { stdout, stderr, code } = await show('lock:import', '--observe', '1s');
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    expect(stdout).toMatch(/^lock:import {3}NO-TTL {3}plain string/);
    expect(stdout).toMatch(/lease +none: it stays until somebody removes it/);
    expect(stdout).toMatch(/note +.*cannot tell one holder from the next/);
    expect(stdout).toMatch(/fence +none: a paused owner can still write/);
  });

  test('with a TTL it says when it frees itself', async () => {
    const { stdout } = await show('lock:export', '--observe', 'off');
    expect(stdout).toMatch(/lease +1[45]m\d*s? left/);
    expect(stdout).toContain('the lease was not watched (--observe off)');
  });

  test('two holds of one holder are told, and the waiters are counted', async () => {
    const { stdout } = await show('invoice:close', '--observe', 'off');
    expect(stdout).toContain('2 holds');
    expect(stdout).toMatch(/waiters +0 \(count only/);
  });

  test('a renewal during the watch proves that the holder lives', async () => {
    await redisDo(redis, ['SET', 'lock:renewed', 'f0f1f2f3f4f5', 'PX', '30000']);
    const renewing = setInterval(() => {
      void redisDo(redis, ['PEXPIRE', 'lock:renewed', '30000']);
    }, 400);
    const { stdout } = await show('lock:renewed', '--observe', '2s');
    clearInterval(renewing);
    expect(stdout).toMatch(/liveness +ALIVE/);
  });

  test('the command to type next takes exactly the name and grant that were shown', async () => {
    const { stdout } = await show('lock:export', '--observe', 'off');
    const expected = /expect +(\S+)/.exec(stdout)?.[1] ?? '';
    expect(stdout).toContain(
      `  fencepost release lock:export --target ${redis.target} --expect ${expected} --reason "…"\n`,
    );
  });

  test('JSON carries the verdict, the evidence and the expect token', async () => {
    const { stdout } = await show('lock:export', '--observe', '1s', '-o', 'json');
    z.object({
      schemaVersion: z.literal(1),
      name: z.literal('lock:export'),
      expect: z.string(),
      liveness: z.object({ verdict: z.string(), reasons: z.array(z.string()) }),
      sample: z.object({ windowMs: z.number(), outcome: z.string() }),
      evidence: z.array(z.object({ name: z.string() })),
      history: z.object({ complete: z.object({ kind: z.string() }) }),
    }).parse(JSON.parse(stdout));
  });

  test('progress of the watch is shown on a terminal and leaves no trace', async () => {
    const args = ['show', 'lock:export', '--target', redis.target, '--observe', '1500ms'];
    const { stdout } = await onTerminal(args);
    expect(stdout).toContain('watching the lease: ');
    const [, afterwards = ''] = stdout.split('\r\u001b[K').slice(-2);
    expect(afterwards).toContain('lock:export');
    expect(afterwards).not.toContain('watching');
  });
});

describe('what is not there, or not a lock', () => {
  test('a lock that is gone is exit code 6, never "no expiry"', async () => {
    const { stdout, stderr, code } = await show('lock:gone');
    expect({ stdout, code }).toEqual({ stdout: '', code: 6 });
    expect(stderr).toContain(`"lock:gone": no such lock on ${redis.target}`);
  });

  test('a string where the forced layout wants a hash breaks that library: exit code 2', async () => {
    const { stdout, stderr, code } = await show('sku:12', '--convention', 'redisson');
    expect({ stdout, code }).toEqual({ stdout: '', code: 2 });
    expect(stderr).toMatch(/"sku:12" holds a string.*fail with WRONGTYPE/);
  });

  test('a cache entry and a list are not called locks and get no release command', async () => {
    for (const name of ['sku:12', 'queue:mail']) {
      const { stdout } = await show(name);
      expect(stdout).toMatch(/UNKNOWN {3}no lock layout recognised/);
      expect(stdout).not.toContain('fencepost release');
    }
  });

  test('an unknown layout is refused with the known ones', async () => {
    const { stderr, code } = await show('lock:import', '--convention', 'curator');
    expect(code).toBe(2);
    expect(stderr).toMatch(/known: .*redisson/);
  });
});

test('Ctrl-C during the watch ends it at once and closes the connection', async () => {
  const { child, ended } = startFencepost([
    'show',
    'lock:export',
    '--target',
    redis.target,
    '--observe',
    '60s',
  ]);
  const ours = async (): Promise<boolean> => {
    const list = await redisDo(redis, ['CLIENT', 'LIST'], ['PING']);
    return list.join('\n').includes('name=fencepost');
  };
  await until('the watch has begun', ours);
  const before = performance.now();
  child.kill('SIGINT');
  expect(await ended).toEqual({ stdout: '', stderr: 'fencepost: interrupted\n', code: 130 });
  // Not the minute that was asked for; how busy this machine is says nothing.
  expect(performance.now() - before).toBeLessThan(15_000);
  await until('the connection is closed', async () => !(await ours()));
});

describe('pointed at a replica', () => {
  const primary = useLab({ system: 'redis' });
  const replica = useLab({ system: 'redis' });

  beforeAll(async () => {
    await redisDo(primary, ['SET', 'lock:a', 'w1', 'PX', '600000']);
    await redisDo(replica, ['REPLICAOF', '127.0.0.1', String(redisPort(primary))]);
    await until('the replica has the lock', async () => {
      const answer = await askRedis(redisPort(replica), [['EXISTS', 'lock:a']]);
      return answer === ':1\r\n';
    });
  });

  test('the lock is shown with where to release it', async () => {
    const args = ['--target', replica.target];
    const shown = await fencepost(['show', 'lock:a', '--observe', 'off', ...args]);
    const where = `this is a replica of 127.0.0.1:${redisPort(primary)}; it may lag by `;
    expect(shown.stdout).toContain(where);
    expect(shown.stdout).toContain(
      `Next: release it on the primary, 127.0.0.1:${redisPort(primary)}`,
    );
    expect(shown.stdout).not.toContain('fencepost release');
    const listed = await fencepost(['ls', ...args]);
    expect(listed.stderr).toContain(where);
    expect(listed.stdout).toContain('lock:a');
  });

  test('with the link down it says since when, and that this may be out of date', async () => {
    await primary.lab.kill(primary.lab.servers[0]?.name ?? '');
    const args = ['show', 'lock:a', '--observe', 'off', '--target', replica.target];
    await until('the replica notices', async () => {
      const { stdout } = await fencepost(args);
      return /its link is down for \d+ s: what is shown may be out of date/.test(stdout);
    });
  }, 60_000);
});
