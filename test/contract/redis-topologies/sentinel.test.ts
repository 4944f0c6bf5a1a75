/** The Redis adapter behind Sentinel: the contract of all backends, then what sentinels add. */
import { beforeAll, describe, expect, test } from 'vitest';
import { stringToText } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';
import { describeBackend } from '../backend.contract.ts';
import { collect, everyLock, forever } from '../backend/subject.ts';
import { openTarget, plainSeeder, rawRedis } from '../redis/redis-seeder.ts';
import { parseText } from '../../../src/domain/text.ts';

const lab = useLab({ system: 'redis-sentinel' });

const portOf = (name: string): number =>
  lab.lab.servers.find((server) => server.name === name)?.port ?? 0;
const primary = (): string => `redis://127.0.0.1:${portOf('redis')}`;

beforeAll(async () => {
  const raw = rawRedis(primary());
  await raw.call('ACL', 'SETUSER', 'reader', 'on', '>pw', '~*', '&*', '+@read');
  await raw.quit();
});

describeBackend('Redis behind Sentinel', {
  facts: {
    names: 'any-bytes',
    holderIs: 'owner-value',
    lease: 'ttl',
    whenFree: 'gone',
    hold: 'replaces',
    history: 'present-holder',
    fence: 'none',
    readOnlyAccount: 'refused',
  },
  open: () => openTarget(lab.target),
  openAt: (port) => openTarget(`redis+sentinel://127.0.0.1:${port}/mymaster`),
  openReadOnly: () => openTarget(lab.target.replace('://', '://reader:pw@')),
  seed: () => Promise.resolve(plainSeeder(primary())),
  pattern: (beginning) => parseText(`contract:${beginning}*`),
});

describe('what the sentinels say', () => {
  test('is shown with every answer: who named the server, and how many agree', async () => {
    const seeder = plainSeeder(primary());
    const grant = await seeder.take(stringToText('seen:lock'), 'owner-1', 60_000);
    const backend = await openTarget(lab.target);
    const seen = await backend.inspect(grant.ref, forever);
    expect(seen?.server).toMatchObject({
      endpoint: `127.0.0.1:${portOf('redis')}`,
      via: 'Sentinel mymaster, 3 of 3 agree',
      doubts: [],
    });
    const probe = await backend.probe(forever);
    expect(probe.topology).toMatchObject({
      value: 'primary with 2 replicas (Sentinel mymaster, 3 of 3 agree)',
    });
    expect(probe.healthy).toMatchObject({ value: { can: true } });
    await backend.close();
    await seeder.close();
  });

  test('a primary that they do not know is a mistake in the target', async () => {
    const backend = await openTarget(lab.target.replace('/mymaster', '/theirs'));
    await expect(collect(backend.list(everyLock, forever).locks)).rejects.toMatchObject({
      exitCode: 2,
      code: 'unknown-primary',
      message: expect.stringContaining('watches no primary named "theirs"') as string,
    });
    await backend.close();
  });

  test('a target without a primary’s name is refused before anything is asked', async () => {
    const open = (url: string): Promise<unknown> => Promise.resolve().then(() => openTarget(url));
    await expect(open(lab.target.replace('/mymaster', ''))).rejects.toMatchObject({
      code: 'bad-target',
    });
  });

  test('nat= leads to where an announced address is reached from here', async () => {
    const announced = `127.0.0.1:${portOf('redis')}`;
    const backend = await openTarget(`${lab.target}?nat=${announced}~127.0.0.1:1`);
    await expect(backend.probe(forever)).rejects.toMatchObject({ code: 'target-unreachable' });
    await backend.close();
  });
});

// The last: it takes the lab apart.
describe('when the primary is killed', () => {
  test('its release is refused at the new primary, and a sentinel that is down is told', async () => {
    const seeder = plainSeeder(primary());
    const grant = await seeder.take(stringToText('lost:lock'), 'owner-1', 60_000);
    const backend = await openTarget(lab.target);
    const seen = await backend.inspect(grant.ref, forever);
    if (seen === undefined) throw new Error('the lock was just taken');
    await seeder.close();
    await lab.lab.kill('sentinel-3');
    const before = portOf('redis');
    await lab.lab.kill('redis');
    const moved = await until(
      'both living sentinels name another primary',
      async () => {
        const now = await backend.probe(forever).catch(() => undefined);
        const agreed = now?.server.via === 'Sentinel mymaster, 2 of 3 agree';
        return now?.server.endpoint !== `127.0.0.1:${before}` && agreed && now;
      },
      30_000,
    );
    expect(moved.server.doubts).toEqual([expect.stringContaining('a sentinel cannot be asked')]);
    const result = await backend.release(seen, { timeoutMs: 5_000 }, forever);
    expect(result).toMatchObject({
      outcome: 'refused',
      reason: 'the server was restarted or replaced since the snapshot',
    });
    await backend.close();
  });
});
