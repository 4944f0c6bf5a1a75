/** The release race on Redis, in each layout that fencepost can release. */
import { useLab } from '../../helpers/servers.ts';
import { describeReleaseRace } from '../race.contract.ts';
import {
  fencedLayout,
  openRedisArena,
  plainLayout,
  redissonLayout,
} from '../arenas/redis-arenas.ts';

const lab = useLab({ system: 'redis' });

describeReleaseRace('a plain Redis string', () => openRedisArena(lab.target, plainLayout), 10_000);
describeReleaseRace('a fenced Redis lock', () => openRedisArena(lab.target, fencedLayout), 500);
describeReleaseRace('a Redisson lock', () => openRedisArena(lab.target, redissonLayout), 500);
