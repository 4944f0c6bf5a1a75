/**
 * kazoo's Lock, WriteLock, ReadLock, Election and Semaphore. Contender names begin with 32 hex
 * digits of a GUID; semaphore leases are that GUID alone, without a sequence.
 * @see python-zk/kazoo@4476a3b kazoo/recipe/lock.py
 */
import { known, unknown } from '../domain/known.ts';
import type { ZooKeeperConvention } from './convention.ts';
import { queueConvention } from './zookeeper-layout.ts';
import { ownerOf } from './zookeeper-queue.ts';

/** A read lock is blocked by lower `__lock__` nodes only; WriteLock and Lock by every lower node. */
export const kazooLock = queueConvention({
  id: 'kazoo-lock',
  title: 'kazoo lock',
  child: /^[0-9a-f]{32}(?<kind>__r?lock__)(?<sequence>\d{10}|-\d{1,10})$/,
  kinds: { __lock__: 'exclusive', __rlock__: 'read' },
  confidence: 'high',
  uniqueNames: true,
});

const leaseName = /^[0-9a-f]{32}$/;

export const kazooSemaphore: ZooKeeperConvention = {
  id: 'kazoo-semaphore',
  title: 'kazoo semaphore',
  system: 'zookeeper',
  uniqueNames: true,
  contender: (name) => (leaseName.test(name) ? { kind: 'exclusive', sequence: 0 } : undefined),
  matches: (record) =>
    record.children.some((child) => leaseName.test(child.name)) && /^\d+$/.test(record.node.data)
      ? 'high'
      : undefined,
  decode(record) {
    const leases = record.children
      .filter((child) => leaseName.test(child.name))
      .sort((a, b) => (a.czxid < b.czxid ? -1 : 1));
    const [first] = leases;
    return {
      state: first === undefined ? 'free' : 'held',
      mode: 'semaphore',
      holders: known(
        leases.map((node) => ({
          owner: ownerOf(node),
          place: unknown('the node data names no address'),
          holds: 1,
          record: node.name,
        })),
      ),
      waiters: {
        kind: 'unknown',
        reason: 'waiters queue at the gate lock beside the semaphore',
        remedy: `show ${record.path}-__lock__`,
      },
      fence:
        first === undefined
          ? { kind: 'none' }
          : { kind: 'token', token: first.czxid, source: 'czxid' },
      heldForMs: unknown('ZooKeeper does not record when a permit was taken'),
      helpers: [],
      notes: [
        {
          code: 'capacity',
          severity: 'info',
          text: `${leases.length} of ${record.node.data} permits taken`,
        },
      ],
      weakOwner: false,
    };
  },
};
