/**
 * ShedLock on ZooKeeper: one persistent node for each task, `/shedlock/<name>`, whose data is the
 * instant until which it is locked. Unlocking writes a past instant; nobody's name is written.
 * @see lukas-krecan/ShedLock@2495b14 ZookeeperCuratorLockProvider
 */
import { unknown } from '../domain/known.ts';
import type { Lease } from '../domain/lease.ts';
import type { Confidence, LockNote } from '../domain/lock.ts';
import { stringToText, type Text } from '../domain/text.ts';
import type { Decoded, ZooKeeperConvention, ZooKeeperRecord } from './convention.ts';

const usualPlace = /^(?:\/.+)?\/shedlock\/[^/]+$/i;
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

export const shedLockZooKeeper: ZooKeeperConvention = {
  id: 'shedlock-zookeeper',
  title: 'ShedLock',
  recognises: '/shedlock/<name> → instant until which it is locked',
  system: 'zookeeper',
  uniqueNames: false,
  contender: () => undefined,
  needsData: (names) => isLeaf(names) && usualPlace.test(names.path),
  freedBy: stringToText('1970-01-01T00:00:00.000Z'),
  warnings: [
    'a run under way is not told: it may go on, and the task may be started again at once',
  ],
  matches,
  decode,
};

function isLeaf({ children, node }: ZooKeeperRecord): boolean {
  return children.length === 0 && node.ephemeralOwner === 0n;
}

function matches(record: ZooKeeperRecord): Confidence | undefined {
  if (!isLeaf(record)) return undefined;
  if (usualPlace.test(record.path)) return 'high';
  return instant.test(record.node.data) ? 'low' : undefined;
}

function decode(record: ZooKeeperRecord): Decoded {
  const untilMs = instantOf(record.node.data);
  const now = record.readAtMs;
  const leftMs = untilMs === undefined || now === undefined ? undefined : untilMs - now;
  const free = leftMs !== undefined && leftMs <= 0;
  return {
    state: free ? 'free' : untilMs === undefined ? 'no-ttl' : 'held',
    mode: 'exclusive',
    holders: free
      ? { kind: 'known', value: [] }
      : unknown('ShedLock writes no owner to ZooKeeper', 'ask the application’s own log'),
    waiters: { kind: 'unknown', reason: 'this layout keeps no record of waiters' },
    fence: { kind: 'none' },
    heldForMs: unknown('the node says until when, not since when'),
    lease: leaseOf(free, untilMs, leftMs),
    helpers: [],
    notes: notesOf(record.node.data, untilMs),
    weakOwner: true,
  };
}

/** Undefined for what ShedLock cannot parse either: it takes that for locked. */
function instantOf(data: Text): number | undefined {
  const ms = instant.test(data) ? Date.parse(data) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

function leaseOf(free: boolean, untilMs: number | undefined, leftMs: number | undefined): Lease {
  if (free) return { kind: 'unknown', reason: 'nobody holds it' };
  if (untilMs === undefined) return { kind: 'never' };
  if (leftMs === undefined) return { kind: 'unknown', reason: 'no clock was read beside the node' };
  return {
    kind: 'ttl',
    ttlMs: leftMs,
    grantedMs: unknown('the node says until when, not since when'),
  };
}

function notesOf(data: Text, untilMs: number | undefined): LockNote[] {
  if (untilMs === undefined) {
    return [
      {
        code: 'unreadable-instant',
        severity: 'warn',
        text: `the data ${data === '' ? 'is empty' : 'is no instant'}: ShedLock takes that for locked, for ever`,
      },
    ];
  }
  return [
    {
      code: 'locked-until',
      severity: 'info',
      text: `locked until ${data} by the clocks of its clients; the time left is by this machine's`,
    },
  ];
}
