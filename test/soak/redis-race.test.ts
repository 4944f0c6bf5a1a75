/** The release race at length on Redis: each layout on one server, behind Sentinel, and on a Cluster. */
import { Cluster } from 'ioredis';
import { describe } from 'vitest';
import {
  fencedLayout,
  openRedisArena,
  plainLayout,
  redissonLayout,
} from '../contract/arenas/redis-arenas.ts';
import { describeReleaseRace } from '../contract/race.contract.ts';
import { soakRace } from '../contract/race-rounds.ts';
import { rawRedis } from '../contract/redis/redis-seeder.ts';
import { useLab } from '../helpers/servers.ts';

const layouts = [
  ['a plain Redis string', plainLayout],
  ['a fenced Redis lock', fencedLayout],
  ['a Redisson lock', redissonLayout],
] as const;

describe('one server', () => {
  const server = useLab({ system: 'redis' });
  for (const [name, layout] of layouts) {
    describeReleaseRace(name, () => openRedisArena(server.target, layout), soakRace);
  }
});

describe('behind Sentinel', () => {
  const sentinels = useLab({ system: 'redis-sentinel' });
  const primary = (): string => {
    const port = sentinels.lab.servers.find(({ name }) => name === 'redis')?.port ?? 0;
    return `redis://127.0.0.1:${port}`;
  };
  for (const [name, layout] of layouts) {
    const open = () => openRedisArena(sentinels.target, layout, () => rawRedis(primary()));
    describeReleaseRace(`${name} behind Sentinel`, open, soakRace);
  }
});

describe('on a Cluster', () => {
  const cluster = useLab({ system: 'redis-cluster' });
  const client = (): Cluster =>
    new Cluster(cluster.lab.servers.map(({ port }) => ({ host: '127.0.0.1', port })));
  for (const [name, layout] of layouts) {
    const open = () => openRedisArena(cluster.target, layout, client);
    describeReleaseRace(`${name} on a Cluster`, open, soakRace);
  }
});
