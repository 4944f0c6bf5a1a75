/** ZooKeeper conventions, most specific first; of two that are equally sure the first one is named. */
import type { ZooKeeperConvention } from './convention.ts';
import {
  curatorLeaderLatch,
  curatorMutex,
  curatorReadWriteLock,
  curatorSemaphore,
} from './curator.ts';
import {
  distributedLockMutex,
  distributedLockReadWrite,
  distributedLockSemaphore,
} from './distributed-lock-zookeeper.ts';
import { goZookeeperLock } from './go-zookeeper.ts';
import { hadoopElector } from './hadoop-elector.ts';
import { kazooLock, kazooSemaphore } from './kazoo.ts';
import { patroniZooKeeper } from './patroni-zookeeper.ts';
import { plainEphemeral } from './plain-ephemeral.ts';
import {
  bareLock,
  bareReadWriteLock,
  sequentialNodes,
  zookeeperWriteLock,
} from './plain-zookeeper.ts';
import { shedLockZooKeeper } from './shedlock-zookeeper.ts';

export const zookeeperConventions: readonly ZooKeeperConvention[] = [
  curatorMutex,
  curatorReadWriteLock,
  curatorLeaderLatch,
  curatorSemaphore,
  goZookeeperLock,
  kazooLock,
  kazooSemaphore,
  hadoopElector,
  zookeeperWriteLock,
  distributedLockMutex,
  bareLock,
  distributedLockReadWrite,
  bareReadWriteLock,
  distributedLockSemaphore,
  shedLockZooKeeper,
  patroniZooKeeper,
  sequentialNodes,
  plainEphemeral,
];
