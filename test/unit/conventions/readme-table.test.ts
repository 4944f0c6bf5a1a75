/** The README's table of layouts names every convention of every registry, and no other. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { etcdConventions } from '../../../src/conventions/etcd-index.ts';
import { redisConventions } from '../../../src/conventions/redis-index.ts';
import { zookeeperConventions } from '../../../src/conventions/zookeeper-index.ts';

const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
const section = readme.split('### Whose lock it is')[1]?.split(/\n##/)[0] ?? '';
const rows = [...section.matchAll(/^\| (Redis|etcd|ZooKeeper) +\| ([^|]+)\|/gm)];

test.each([
  ['Redis', redisConventions],
  ['etcd', etcdConventions],
  ['ZooKeeper', zookeeperConventions],
] as const)('each %s layout has its place in the README’s table', (system, conventions) => {
  const named = rows
    .filter((row) => row[1] === system)
    .flatMap((row) => [...(row[2] ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1]));
  expect(named.sort()).toEqual(conventions.map((one) => one.id).sort());
});
