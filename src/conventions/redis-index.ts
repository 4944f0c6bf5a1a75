/** Redis conventions, most specific first; of two that are equally sure the first one is named. */
import type { RedisConvention } from './convention.ts';
import { fencepostFenced } from './fencepost-fenced.ts';
import { plainRedis } from './plain-redis.ts';
import { redisson } from './redisson.ts';
import { redissonReadWrite } from './redisson-read-write.ts';

export const redisConventions: readonly RedisConvention[] = [
  fencepostFenced,
  redissonReadWrite,
  redisson,
  plainRedis,
];
