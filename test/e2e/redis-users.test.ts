import { beforeAll, describe, expect, test } from 'vitest';
import { fencepost } from '../helpers/fencepost.ts';
import { redisDo, redisPort } from '../helpers/redis.ts';
import { useLab } from '../helpers/servers.ts';

const redis = useLab({ system: 'redis' });

beforeAll(async () => {
  await redisDo(
    redis,
    ['SET', 'lock:a', '9f31c0a7d2e84b5fa1c6', 'PX', '600000'],
    ['ACL', 'SETUSER', 'inspector', 'on', '>secret', '~*', '&*', '+@read'],
    ['ACL', 'SETUSER', 'open', 'on', 'nopass', '~*', '&*', '+@all'],
  );
});

function at(user: string): string {
  return `redis://${user}@127.0.0.1:${redisPort(redis)}`;
}

describe('a user named without a password, on a server whose default user needs none', () => {
  test('is refused rather than replaced by the default user', async () => {
    for (const user of ['inspector', 'nosuchuser']) {
      const listed = await fencepost(['ls', '--target', at(user)]);
      expect(listed.code).toBe(4);
      expect(listed.stderr).toContain('refused the user name or password');
      const released = await fencepost([
        'release',
        'lock:a',
        '--target',
        at(user),
        '--confirm',
        'lock:a',
        '--execute',
      ]);
      expect(released.code).toBe(4);
    }
    const still = await fencepost(['ls', '-o', 'name', '--target', at('open')]);
    expect(still.stdout).toBe('lock:a\n');
  });

  test('signs in where that user needs none either', async () => {
    const listed = await fencepost(['ls', '-o', 'name', '--target', at('open')]);
    expect(listed.code).toBe(0);
  });
});
