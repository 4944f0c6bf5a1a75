/** The Redis adapter on a Cluster: the contract of all backends, then what slots and nodes add. */
import { Cluster as RawCluster, Redis } from 'ioredis';
import { beforeAll, describe, expect, test } from 'vitest';
import { slotOf } from '../../../src/backends/redis/hash-slot.ts';
import { parseText, stringToText, type Text } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';
import { describeBackend } from '../backend.contract.ts';
import { collect, everyLock, forever, type Seeder } from '../backend/subject.ts';
import { openTarget, plainSeeder } from '../redis/redis-seeder.ts';

const lab = useLab({ system: 'redis-cluster' });

const ports = (): readonly number[] => lab.lab.servers.map(({ port }) => port);
const node = (index: number): Redis => new Redis({ host: '127.0.0.1', port: ports()[index] ?? 0 });

function rawCluster(): RawCluster {
  const raw = new RawCluster(ports().map((port) => ({ host: '127.0.0.1', port })));
  // A node that is killed on purpose is no news.
  raw.on('error', () => undefined);
  return raw;
}

function seeder(): Seeder {
  return plainSeeder(rawCluster());
}

beforeAll(async () => {
  for (const index of ports().keys()) {
    const raw = node(index);
    const rule = ['+@read', '+cluster|slots', '+cluster|info'];
    await raw.call('ACL', 'SETUSER', 'reader', 'on', '>pw', '~*', '&*', ...rule);
    await raw.call('ACL', 'SETUSER', 'blind', 'on', '>pw', '~*', '&*', '+@read');
    await raw.quit();
  }
});

describeBackend('Redis Cluster', {
  facts: {
    names: 'any-bytes',
    holderIs: 'owner-value',
    lease: 'ttl',
    hold: 'replaces',
    history: 'present-holder',
    fence: 'none',
    whenFree: 'gone',
    readOnlyAccount: 'refused',
  },
  open: () => openTarget(lab.target),
  openAt: (port) => openTarget(`redis+cluster://127.0.0.1:${port}`),
  openReadOnly: () => openTarget(lab.target.replace('://', '://reader:pw@')),
  seed: () => Promise.resolve(seeder()),
  pattern: (beginning) => parseText(`contract:${beginning}*`),
});

/** A name in a slot of the node of that number (0, 1 or 2). */
function nameOn(primary: number, word: string): Text {
  for (let number = 0; ; number += 1) {
    const name = stringToText(`${word}-${number}:lock`);
    if (Math.floor((slotOf(name) * 3) / 16_384) === primary) return name;
  }
}

describe('a lock in a cluster', () => {
  test('is shown with its slot and the node that serves it', async () => {
    const raw = seeder();
    const backend = await openTarget(lab.target);
    for (const primary of [0, 1, 2]) {
      const name = nameOn(primary, 'placed');
      const grant = await raw.take(name, `owner-${primary}`, 60_000);
      const seen = await backend.inspect(grant.ref, forever);
      expect(seen?.server).toMatchObject({
        endpoint: `127.0.0.1:${ports()[primary]}`,
        slot: slotOf(name),
        doubts: [],
      });
    }
    const listed = await collect(
      backend.list({ ...everyLock, pattern: parseText('placed-*') }, forever).locks,
    );
    expect(listed.map(({ server }) => server.endpoint).sort()).toEqual(
      ports()
        .slice(0, 3)
        .map((port) => `127.0.0.1:${port}`)
        .sort(),
    );
    await backend.close();
    await raw.close();
  });

  test('is followed while its slot is on its way to another node, and released there', async () => {
    const name = nameOn(0, 'moving');
    const slot = slotOf(name);
    const [source, goal] = [node(0), node(1)];
    const [sourceId, goalId] = [
      String(await source.call('CLUSTER', 'MYID')),
      String(await goal.call('CLUSTER', 'MYID')),
    ];
    const raw = seeder();
    const grant = await raw.take(name, 'owner-1', 60_000);
    await goal.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', sourceId);
    await source.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', goalId);
    await source.call('MIGRATE', '127.0.0.1', String(ports()[1]), name, '0', '5000');
    const backend = await openTarget(lab.target);
    const seen = await backend.inspect(grant.ref, forever);
    expect(seen?.holders).toMatchObject({ value: [{ owner: 'owner-1' }] });
    const listed = await collect(
      backend.list({ ...everyLock, pattern: parseText('moving-*') }, forever).locks,
    );
    expect(listed.map(({ ref }) => ref.name)).toEqual([name]);
    for (const one of [source, goal]) await one.call('CLUSTER', 'SETSLOT', slot, 'NODE', goalId);
    if (seen === undefined) throw new Error('it was seen above');
    const stale = await backend.release(seen, { timeoutMs: 5_000 }, forever);
    expect(stale).toMatchObject({
      outcome: 'refused',
      reason: expect.stringContaining('replaced') as string,
    });
    const now = await backend.inspect(grant.ref, forever);
    expect(now?.server.endpoint).toBe(`127.0.0.1:${ports()[1]}`);
    if (now === undefined) throw new Error('it is still there');
    expect(await backend.release(now, { timeoutMs: 5_000 }, forever)).toMatchObject({
      outcome: 'released',
    });
    await backend.close();
    await raw.close();
    source.disconnect();
    goal.disconnect();
  });

  test('whose queue lies in another slot is flagged, and is not released', async () => {
    const raw = rawCluster();
    const owner = '6e1c2d34-0a1b-4c5d-8e9f-a0b1c2d3e4f5:51';
    // With a brace in the name Redisson adds none, so that queue and lock share no hash tag.
    await raw.hset('{split', owner, '1');
    await raw.pexpire('{split', 60_000);
    await raw.rpush('redisson_lock_queue:{split', '0f9e8d7c-6b5a-4938-8271-605f4e3d2c1b:7');
    await raw.set('redisson_lock_token:{split', '7');
    const backend = await openTarget(lab.target);
    const seen = await backend.inspect({ name: stringToText('{split') }, forever);
    expect(seen?.notes.map(({ code }) => code)).toContain('split-slots');
    if (seen === undefined) throw new Error('it was just taken');
    expect(backend.preview(seen, {}).possible).toMatchObject({
      can: false,
      reason: expect.stringContaining('another hash slot') as string,
    });
    await backend.close();
    await raw.quit();
  });
});

describe('a cluster', () => {
  test('is told by its size, its health and an id that a failover does not change', async () => {
    const backend = await openTarget(lab.target);
    const probe = await backend.probe(forever);
    expect(probe).toMatchObject({
      topology: { value: 'cluster of 3 primaries, 3 replicas' },
      healthy: { value: { can: true } },
    });
    const replica = node(3);
    await replica.call('CLUSTER', 'FAILOVER', 'TAKEOVER');
    await until('the replica is a primary', async () => {
      const now = await backend.probe(forever);
      return (
        now.healthy.kind === 'known' && now.healthy.value.can && now.clusterId.kind === 'known'
      );
    });
    expect((await backend.probe(forever)).clusterId).toEqual(probe.clusterId);
    replica.disconnect();
    await backend.close();
  });

  test('is refused to an account that may not ask for the slots', async () => {
    const backend = await openTarget(lab.target.replace('://', '://blind:pw@'));
    await expect(collect(backend.list(everyLock, forever).locks)).rejects.toMatchObject({
      exitCode: 4,
      code: 'permission-denied',
      hint: expect.stringContaining('+cluster|slots') as string,
    });
    await backend.close();
  });
});

// The last: it takes the lab apart.
test('with a shard down the locks of the others are listed, and what is missing is said', async () => {
  const raw = seeder();
  const names = [0, 1, 2].map((primary) => nameOn(primary, 'shard'));
  for (const name of names) await raw.take(name, 'owner-1', 120_000);
  await raw.close();
  const backend = await openTarget(lab.target);
  await backend.probe(forever);
  await lab.lab.kill('node-3');
  const listing = backend.list({ ...everyLock, pattern: parseText('shard-*') }, forever);
  const listed = await collect(listing.locks);
  expect(listing.tally.holes).toEqual([expect.stringContaining(`127.0.0.1:${ports()[2]}`)]);
  expect(listed.map(({ ref }) => ref.name).sort()).toEqual(names.slice(0, 2).sort());
  await backend.close();
});
