/**
 * Hadoop's ActiveStandbyElector (HDFS NameNode, YARN ResourceManager): an ephemeral lock node and a
 * persistent breadcrumb beside it, both with the application data of the active. The breadcrumb
 * outlives a crash: the next active fences whoever it names before it goes to work.
 * @see apache/hadoop@00e37c8 ActiveStandbyElector
 */
import { known, unknown } from '../domain/known.ts';
import type { LockNote } from '../domain/lock.ts';
import { parseText } from '../domain/text.ts';
import type {
  Decoded,
  ZooKeeperChild,
  ZooKeeperConvention,
  ZooKeeperRecord,
} from './convention.ts';
import { ownerOf } from './zookeeper-queue.ts';

const lockName = 'ActiveStandbyElectorLock';
const breadcrumbName = 'ActiveBreadCrumb';

export const hadoopElector: ZooKeeperConvention = {
  id: 'hadoop-elector',
  title: 'Hadoop active/standby elector',
  recognises: 'ActiveStandbyElectorLock beside ActiveBreadCrumb',
  system: 'zookeeper',
  uniqueNames: false,
  contender: (child) => (child === lockName ? { kind: 'exclusive', sequence: 0 } : undefined),
  helper: (child) => child === breadcrumbName,
  // Data tells an active from one that must be fenced; there is one such parent for each cluster.
  needsData: (names) => matches(names) !== undefined,
  warnings: [
    'a standby becomes active at once and fences this one, as the breadcrumb tells it to',
    'the breadcrumb stays: deleting it would let two actives work at once',
  ],
  matches,
  decode,
};

function matches(record: ZooKeeperRecord): 'high' | undefined {
  return (childNamed(record, lockName) ?? childNamed(record, breadcrumbName)) ? 'high' : undefined;
}

function childNamed({ children }: ZooKeeperRecord, name: string): ZooKeeperChild | undefined {
  return children.find((child) => child.name === name);
}

function decode(record: ZooKeeperRecord): Decoded {
  const lock = childNamed(record, lockName);
  const breadcrumb = childNamed(record, breadcrumbName);
  return {
    state: lock === undefined ? 'free' : lock.ephemeralOwner === 0n ? 'no-ttl' : 'held',
    mode: 'exclusive',
    holders: known(
      lock === undefined
        ? []
        : [
            {
              owner: ownerOf(lock),
              place: unknown('the application data is opaque', 'read the session’s client address'),
              holds: 1,
              record: lock.name,
            },
          ],
    ),
    waiters: { kind: 'unknown', reason: 'standbys watch the lock node: they leave no record' },
    fence:
      lock === undefined ? { kind: 'none' } : { kind: 'token', token: lock.czxid, source: 'czxid' },
    heldForMs: unknown('read the creation time of the lock node'),
    helpers: breadcrumb === undefined ? [] : [parseText(`${record.path}/${breadcrumbName}`)],
    notes: notesOf(lock, breadcrumb),
    weakOwner: false,
  };
}

function notesOf(
  lock: ZooKeeperChild | undefined,
  breadcrumb: ZooKeeperChild | undefined,
): LockNote[] {
  if (breadcrumb === undefined) return [];
  if (lock === undefined) {
    return [
      {
        code: 'awaiting-fencing',
        severity: 'warn',
        text: `no active: the last one (${ownerOf(breadcrumb)}) went without a word and awaits fencing by the next; never delete its breadcrumb`,
      },
    ];
  }
  if (lock.data === breadcrumb.data) return [];
  return [
    {
      code: 'fencing-under-way',
      severity: 'warn',
      text: `the breadcrumb still names ${ownerOf(breadcrumb)}: the new active has not fenced it yet`,
    },
  ];
}
