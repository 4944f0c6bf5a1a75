/** Redis conventions, most specific first; of two that are equally sure the first one is named. */
import type { RedisConvention } from './convention.ts';
import { bullmq } from './bullmq.ts';
import { distributedLockMutex } from './distributed-lock-mutex.ts';
import { distributedLockReadWrite } from './distributed-lock-read-write.ts';
import { distributedLockSemaphore } from './distributed-lock-semaphore.ts';
import { fencepostFenced } from './fencepost-fenced.ts';
import { laravel } from './laravel.ts';
import { plainRedis } from './plain-redis.ts';
import { pythonRedisLock } from './python-redis-lock.ts';
import { redisTokenLocks } from './redis-token-locks.ts';
import { redisson } from './redisson.ts';
import { redissonLatch, redissonSemaphore } from './redisson-counters.ts';
import { redissonFasterMultiLock } from './redisson-faster-multilock.ts';
import { redissonPermits } from './redisson-permits.ts';
import { redissonReadWrite } from './redisson-read-write.ts';
import { resqueLock } from './resque-lock.ts';
import { rueidislock } from './rueidislock.ts';
import { shedlockRedis } from './shedlock-redis.ts';
import { sidekiqUniqueJobs } from './sidekiq-unique-jobs.ts';

export const redisConventions: readonly RedisConvention[] = [
  fencepostFenced,
  redissonReadWrite,
  redissonFasterMultiLock,
  redisson,
  redissonPermits,
  redissonSemaphore,
  redissonLatch,
  sidekiqUniqueJobs,
  rueidislock,
  bullmq,
  shedlockRedis,
  distributedLockReadWrite,
  distributedLockSemaphore,
  distributedLockMutex,
  resqueLock,
  laravel,
  ...redisTokenLocks,
  pythonRedisLock,
  plainRedis,
];
