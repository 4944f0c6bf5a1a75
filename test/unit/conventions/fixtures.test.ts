/** Every layout of every registry has a fixture that names it, and no fixture names another. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { etcdConventions } from '../../../src/conventions/etcd-index.ts';
import { redisConventions } from '../../../src/conventions/redis-index.ts';
import { zookeeperConventions } from '../../../src/conventions/zookeeper-index.ts';
import { readFixtures } from '../../contract/conventions/fixture.ts';

test.each([
  ['redis', redisConventions],
  ['etcd', etcdConventions],
  ['zookeeper', zookeeperConventions],
] as const)('each layout of %s is in a fixture, as the layout or as a candidate', (system, all) => {
  const named = readFixtures(system, z.unknown()).flatMap(([, { recognised }]) => [
    recognised.convention,
    ...recognised.candidates,
  ]);
  expect([...new Set(named)].sort()).toEqual([...new Set(all.map(({ id }) => id))].sort());
});
