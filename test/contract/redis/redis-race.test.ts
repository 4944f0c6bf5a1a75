/** The release race on Redis, in each layout that fencepost can release. */
import { useLab } from '../../helpers/servers.ts';
import { describeReleaseRace } from '../race.contract.ts';
import { shortRaces } from '../race-rounds.ts';
import {
  fencedLayout,
  openRedisArena,
  plainLayout,
  redissonLayout,
  type RedisLayout,
} from '../arenas/redis-arenas.ts';

const lab = useLab({ system: 'redis' });

const { plain, fenced, redisson } = shortRaces.redis;
const open = (layout: RedisLayout) => () => openRedisArena(lab.target, layout);

describeReleaseRace('a plain Redis string', open(plainLayout), plain);
describeReleaseRace('a fenced Redis lock', open(fencedLayout), fenced);
describeReleaseRace('a Redisson lock', open(redissonLayout), redisson);
