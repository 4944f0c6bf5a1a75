/** Redis conventions, most specific first; of two that are equally sure the first one is named. */
import type { RedisConvention } from './convention.ts';
import { bullmq } from './bullmq.ts';
import { distributedLockMutex } from './distributed-lock-mutex.ts';
import { fencepostFenced } from './fencepost-fenced.ts';
import { laravel } from './laravel.ts';
import { plainRedis } from './plain-redis.ts';
import { pythonRedisLock } from './python-redis-lock.ts';
import { redisTokenLocks } from './redis-token-locks.ts';
import { redisson } from './redisson.ts';
import { redissonReadWrite } from './redisson-read-write.ts';
import { resqueLock } from './resque-lock.ts';
import { shedlockRedis } from './shedlock-redis.ts';

export const redisConventions: readonly RedisConvention[] = [
  fencepostFenced,
  redissonReadWrite,
  redisson,
  bullmq,
  shedlockRedis,
  distributedLockMutex,
  resqueLock,
  laravel,
  ...redisTokenLocks,
  pythonRedisLock,
  plainRedis,
];
