/** ZooKeeper conventions, most specific first. */
import type { ZooKeeperConvention } from './convention.ts';
import { curatorLeaderLatch, curatorMutex, curatorReadWriteLock } from './curator.ts';
import { goZookeeperLock } from './go-zookeeper.ts';
import { kazooLock, kazooSemaphore } from './kazoo.ts';
import { plainEphemeral } from './plain-ephemeral.ts';
import {
  bareLock,
  bareReadWriteLock,
  sequentialNodes,
  zookeeperWriteLock,
} from './plain-zookeeper.ts';

export const zookeeperConventions: readonly ZooKeeperConvention[] = [
  curatorMutex,
  curatorReadWriteLock,
  curatorLeaderLatch,
  goZookeeperLock,
  kazooLock,
  kazooSemaphore,
  zookeeperWriteLock,
  bareReadWriteLock,
  bareLock,
  sequentialNodes,
  plainEphemeral,
];
