/**
 * Apache Curator's recipes: mutex, read/write lock, leader latch, semaphore leases. Names carry a
 * "protection" GUID, `_c_<uuid>-`, so that a create whose reply was lost can be found again.
 * @see apache/curator@88dee99 curator-recipes LockInternals, InterProcessReadWriteLock, LeaderLatch
 */
import { queueConvention } from './zookeeper-layout.ts';

const guid = '_c_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-';
const sequence = '(?<sequence>\\d{10}|-\\d{1,10})$';

export const curatorMutex = queueConvention({
  id: 'curator-mutex',
  title: 'Curator mutex',
  child: new RegExp(`^${guid}lock-${sequence}`),
  confidence: 'high',
  uniqueNames: true,
});

export const curatorReadWriteLock = queueConvention({
  id: 'curator-read-write',
  title: 'Curator read/write lock',
  child: new RegExp(`^(?:_c_.+?-)?(?<kind>__READ__|__WRIT__)${sequence}`),
  kinds: { __READ__: 'read', __WRIT__: 'write' },
  confidence: 'high',
  uniqueNames: true,
});

export const curatorLeaderLatch = queueConvention({
  id: 'curator-leader-latch',
  title: 'Curator leader latch',
  child: new RegExp(`^${guid}latch-${sequence}`),
  confidence: 'high',
  uniqueNames: true,
});
