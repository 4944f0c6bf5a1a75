/**
 * Apache Curator's recipes: mutex, read/write lock, leader latch, leader selector (a mutex) and
 * semaphores. Names carry a "protection" GUID, `_c_<uuid>-`, so that a create whose reply was lost
 * can be found again. Data is the client's IP address unless the application chose other.
 * @see apache/curator@88dee99 curator-recipes LockInternals, InterProcessReadWriteLock,
 *   InterProcessSemaphoreV2, LeaderLatch, LeaderSelector
 */
import { parseText, type Text } from '../domain/text.ts';
import { sequenceSuffix } from '../domain/zookeeper-sequence.ts';
import type { Decoded, ZooKeeperConvention, ZooKeeperRecord } from './convention.ts';
import { queueConvention } from './zookeeper-layout.ts';
import { decodePermits } from './zookeeper-permits.ts';

const guid = '_c_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-';

const mutex = queueConvention({
  id: 'curator-mutex',
  title: 'Curator mutex',
  recognises: '_c_<uuid>-lock-<seq>: InterProcessMutex, LeaderSelector, Spring Integration',
  child: new RegExp(`^${guid}lock-${sequenceSuffix}`),
  confidence: 'high',
  uniqueNames: true,
});

/** Also a leader selector, and Spring Integration's registry, which keeps its locks at one place. */
export const curatorMutex: ZooKeeperConvention = {
  ...mutex,
  decode: (record) => ({
    ...mutex.decode(record),
    ...(record.path.startsWith('/SpringIntegration-LockRegistry/')
      ? { title: 'Spring Integration lock (Curator mutex)' }
      : {}),
  }),
};

const readWrite = queueConvention({
  id: 'curator-read-write',
  title: 'Curator read/write lock',
  recognises: '_c_<uuid>-__READ__<seq>, __WRIT__',
  child: new RegExp(`^(?:_c_.+?-)?(?<kind>__READ__|__WRIT__)${sequenceSuffix}`),
  kinds: { __READ__: 'read', __WRIT__: 'write' },
  confidence: 'high',
  uniqueNames: true,
});

export const curatorReadWriteLock: ZooKeeperConvention = {
  ...readWrite,
  decode: (record) => withOwnReaders(readWrite.decode(record), record),
};

/** A thread that holds the write lock may take the read lock too: behind it, yet not waiting for it. */
function withOwnReaders(decoded: Decoded, record: ZooKeeperRecord): Decoded {
  const { holders, waiters } = decoded;
  const writer =
    holders.kind === 'known' ? holders.value.find(({ mode }) => mode === 'write') : undefined;
  if (writer === undefined || waiters.kind !== 'exact') return decoded;
  const sessionOf = (name: Text | undefined): bigint | undefined =>
    record.children.find((child) => child.name === name)?.ephemeralOwner;
  const session = sessionOf(writer.record);
  const list = waiters.list.map((waiter) =>
    waiter.mode === 'read' && session !== 0n && sessionOf(waiter.record) === session
      ? { ...waiter, note: 'may hold it as well: the session of the write holder may also read' }
      : waiter,
  );
  return { ...decoded, waiters: { kind: 'exact', list } };
}

export const curatorLeaderLatch = queueConvention({
  id: 'curator-leader-latch',
  title: 'Curator leader latch',
  recognises: '_c_<uuid>-latch-<seq>',
  child: new RegExp(`^${guid}latch-${sequenceSuffix}`),
  confidence: 'high',
  uniqueNames: true,
});

const lease = queueConvention({
  id: 'curator-semaphore',
  title: 'Curator semaphore',
  recognises: 'leases/_c_<uuid>-lease-<seq>, waiters at locks/: SemaphoreV2, SemaphoreMutex',
  child: new RegExp(`^${guid}lease-${sequenceSuffix}`),
  confidence: 'high',
  uniqueNames: true,
});

const leases = '/leases';
const locks = '/locks';

/** SemaphoreV2, and with one permit SemaphoreMutex: permits at `<path>/leases`, a mutex at `<path>/locks`. */
export const curatorSemaphore: ZooKeeperConvention = {
  ...lease,
  nameOf: (path) => before(path, leases),
  pathOf: (name) => parseText(`${name}${leases}`),
  gate: {
    pathFor: (path) => parseText(`${before(path, leases) ?? path}${locks}`),
    semaphoreAt: (gate) => {
      const name = before(gate, locks);
      return name === undefined ? undefined : parseText(`${name}${leases}`);
    },
    contender: (child) => mutex.contender(child),
  },
  decode: (record) =>
    decodePermits(record, {
      contender: (child) => lease.contender(child),
      gateContender: (child) => mutex.contender(child),
      capacity: 'how many permits there are is not stored on the server: clients must agree on it',
      waitsWithNode: true,
    }),
};

/** What stands before the last part of a path, if that part is `end`. */
function before(path: Text, end: string): Text | undefined {
  return path.endsWith(end) && path.length > end.length
    ? parseText(path.slice(0, -end.length))
    : undefined;
}
