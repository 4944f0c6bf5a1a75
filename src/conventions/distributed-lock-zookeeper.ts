/**
 * The .NET library DistributedLock: a mutex of `lock-`, a reader-writer lock of `read-` and `write-`,
 * a semaphore of `semaphore-` nodes, all without a GUID, so that hand-made recipes look the same.
 * @see madelson/DistributedLock@3da3eaf DistributedLock.ZooKeeper
 */
import { unknown } from '../domain/known.ts';
import { sequenceSuffix } from '../domain/zookeeper-sequence.ts';
import type { Decoded, ZooKeeperConvention, ZooKeeperRecord } from './convention.ts';
import { queueConvention } from './zookeeper-layout.ts';
import { capacityNote, fenceOf } from './zookeeper-permits.ts';
import { orderContenders, queueNotes, stateOf, toHolder, toWaiter } from './zookeeper-queue.ts';

export const distributedLockMutex = queueConvention({
  id: 'distributed-lock-mutex',
  title: 'DistributedLock (.NET) mutex',
  recognises: 'lock-<seq>',
  child: new RegExp(`^lock-${sequenceSuffix}`),
  confidence: 'medium',
  uniqueNames: false,
});

export const distributedLockReadWrite = queueConvention({
  id: 'distributed-lock-read-write',
  title: 'DistributedLock (.NET) reader-writer lock',
  recognises: 'read-<seq>, write-<seq>',
  child: new RegExp(`^(?<kind>read|write)-${sequenceSuffix}`),
  kinds: { read: 'read', write: 'write' },
  confidence: 'medium',
  uniqueNames: false,
});

const places = queueConvention({
  id: 'distributed-lock-semaphore',
  title: 'DistributedLock (.NET) semaphore',
  recognises: 'semaphore-<seq>, of the holders → ACQUIRED',
  child: new RegExp(`^semaphore-${sequenceSuffix}`),
  confidence: 'medium',
  uniqueNames: false,
});

/** Holders mark their own node; whoever has not waits, whatever its place. */
export const distributedLockSemaphore: ZooKeeperConvention = {
  ...places,
  needsData: (names) => places.matches(names) !== undefined,
  decode,
};

const acquired = 'ACQUIRED';

function decode(record: ZooKeeperRecord): Decoded {
  const ordered = orderContenders(record, (name) => places.contender(name));
  const holding = ordered.filter(({ node }) => node.data === acquired);
  const waiting = ordered.filter(({ node }) => node.data !== acquired);
  return {
    state: holding.length === 0 && waiting.length > 0 ? 'orphan-waiters' : stateOf(holding),
    mode: 'semaphore',
    holders: {
      kind: 'known',
      // The mark is the same for all: only the node names its owner.
      value: holding.map((one) => ({ ...toHolder(one), owner: one.node.name })),
    },
    waiters: { kind: 'exact', list: waiting.map((one, index) => toWaiter(one, index + 1)) },
    fence: fenceOf(holding),
    heldForMs: unknown('ZooKeeper does not record when a permit was taken'),
    helpers: [],
    notes: [
      capacityNote(holding.length, 'how many there are is not stored on the server'),
      ...queueNotes(ordered),
    ],
    weakOwner: false,
  };
}
