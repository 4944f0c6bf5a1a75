/**
 * kazoo's Lock, WriteLock, ReadLock, Election (a Lock) and Semaphore. Contender names begin with 32
 * hex digits of a GUID; semaphore permits are that GUID alone, without a sequence. Data is the
 * identifier that the application gave, or empty. A Lock made with `ephemeral=False` outlives its client.
 * @see python-zk/kazoo@4476a3b kazoo/recipe/lock.py
 */
import { parseText, type Text } from '../domain/text.ts';
import { sequenceSuffix } from '../domain/zookeeper-sequence.ts';
import type { ContenderName, ZooKeeperConvention } from './convention.ts';
import { queueConvention } from './zookeeper-layout.ts';
import { decodePermits } from './zookeeper-permits.ts';

const queue = queueConvention({
  id: 'kazoo-lock',
  title: 'kazoo lock',
  recognises: '<32 hex>__lock__<seq>, __rlock__: Lock, ReadLock, WriteLock, Election',
  child: new RegExp(`^[0-9a-f]{32}(?<kind>__r?lock__)${sequenceSuffix}`),
  kinds: { __lock__: 'exclusive', __rlock__: 'read' },
  confidence: 'high',
  uniqueNames: true,
});

/** A read lock is blocked by lower `__lock__` nodes only; WriteLock and Lock by every lower node. */
export const kazooLock: ZooKeeperConvention = {
  ...queue,
  decode: (record) => ({
    ...queue.decode(record),
    ...(record.children.some(({ name }) => queue.contender(name)?.kind === 'read')
      ? { title: 'kazoo read/write lock' }
      : {}),
  }),
};

const permitName = /^[0-9a-f]{32}$/;
const gateSuffix = '-__lock__';

export const kazooSemaphore: ZooKeeperConvention = {
  id: 'kazoo-semaphore',
  title: 'kazoo semaphore',
  recognises: '<32 hex>, the node itself → how many; waiters at <path>-__lock__',
  system: 'zookeeper',
  uniqueNames: true,
  contender: permit,
  needsData: ({ children }) => children.some(({ name }) => permitName.test(name)),
  gate: {
    pathFor: (path) => parseText(path + gateSuffix),
    semaphoreAt: (gate) =>
      gate.endsWith(gateSuffix) ? parseText(gate.slice(0, -gateSuffix.length)) : undefined,
    contender: (child) => queue.contender(child),
  },
  matches: (record) =>
    record.children.some((child) => permitName.test(child.name)) && /^\d+$/.test(record.node.data)
      ? 'high'
      : undefined,
  decode: (record) =>
    decodePermits(record, {
      contender: permit,
      gateContender: (child) => queue.contender(child),
      capacity: /^\d+$/.test(record.node.data)
        ? `there are ${record.node.data}, by the node's data`
        : 'the node does not say how many there are',
    }),
};

/** Permits have no order of their own but that of their creation. */
function permit(name: Text): ContenderName | undefined {
  return permitName.test(name) ? { kind: 'exclusive', sequence: 0 } : undefined;
}
