/**
 * Names without a GUID: ZooKeeper's own WriteLock recipe (`x-<session>-`) and hand-made recipes. A
 * node of the same name can be created again after the parent was re-created, so a release needs
 * the version bump.
 * @see apache/zookeeper zookeeper-recipes-lock WriteLock
 */
import { sequenceSuffix } from '../domain/zookeeper-sequence.ts';
import { queueConvention } from './zookeeper-layout.ts';

/** The official recipe: the session id in the name, decimal, then the sequence. */
export const zookeeperWriteLock = queueConvention({
  id: 'zookeeper-write-lock',
  title: 'ZooKeeper WriteLock recipe',
  recognises: 'x-<session>-<seq>',
  child: new RegExp(`^x-\\d+-${sequenceSuffix}`),
  confidence: 'high',
  uniqueNames: false,
});

export const bareReadWriteLock = queueConvention({
  id: 'bare-read-write',
  title: 'hand-made read-/write- recipe',
  recognises: 'read-<seq>, write-<seq>',
  child: new RegExp(`^(?<kind>read|write)-${sequenceSuffix}`),
  kinds: { read: 'read', write: 'write' },
  confidence: 'medium',
  uniqueNames: false,
});

export const bareLock = queueConvention({
  id: 'bare-lock',
  title: 'hand-made lock- recipe',
  recognises: 'lock-<seq>',
  child: new RegExp(`^lock-${sequenceSuffix}`),
  confidence: 'medium',
  uniqueNames: false,
});

/** Any other sequential ephemeral children: only when asked for, or under a lock-like parent. */
export const sequentialNodes = queueConvention({
  id: 'sequential-nodes',
  title: 'sequential nodes (library unknown)',
  recognises: 'any sequential children of a node with a lock’s name',
  // A single hyphen belongs to the prefix, so `n-1500000000` is no negative number.
  child: new RegExp(`^(?:[^/]*[^-/]-|[^/]*[^0-9/-])?${sequenceSuffix}`),
  confidence: 'low',
  uniqueNames: false,
});
