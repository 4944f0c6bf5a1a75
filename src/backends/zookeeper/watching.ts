/** Who watches whom in a queue: a waiter without a watch on what it waits for is stranded. */
import type { ZooKeeperConvention, ZooKeeperRecord } from '../../conventions/convention.ts';
import { orderContenders, predecessorOf } from '../../conventions/zookeeper-queue.ts';
import type { Waiter } from '../../domain/holder.ts';
import { known, unknown, valueOf, type Known } from '../../domain/known.ts';
import type { LockNote, LockSnapshot } from '../../domain/lock.ts';
import type { Text } from '../../domain/text.ts';
import type { Watches } from '../../clients/zookeeper/members.ts';
import { childPath, rawPath } from './records.ts';

export interface WatchedQueue {
  readonly record: ZooKeeperRecord;
  readonly convention: ZooKeeperConvention;
  readonly watches: Known<Watches>;
  /** With its slash, or empty: members report whole paths. */
  readonly chroot: string;
}

/** Says of each waiter what it watches, and notes those that watch nothing. */
export function withWatches(snapshot: LockSnapshot, queue: WatchedQueue): LockSnapshot {
  if (snapshot.waiters.kind !== 'exact') return snapshot;
  const { watches } = queue;
  const { children, read } = contendersOf(queue);
  const ordered = orderContenders({ children }, read);
  const stranded: LockNote[] = [];
  const list = snapshot.waiters.list.map((waiter): Waiter => {
    const position = ordered.findIndex((one) => one.node.name === waiter.record);
    const before = predecessorOf(ordered, position)?.node.name;
    const seen = watchOf(ordered[position]?.node.ephemeralOwner, before, queue);
    const forAnyPermit = before === undefined || queue.record.gate === undefined;
    if (seen === 'nothing' && snapshot.mode === 'semaphore' && forAnyPermit) {
      return { ...waiter, watches: childrenWatched };
    }
    if (seen === undefined) return { ...waiter, watches: holeOf(watches) };
    if (seen === 'nothing') {
      stranded.push({
        code: 'stranded-waiter',
        severity: 'warn',
        text: `${waiter.record ?? ''} watches nothing: when its turn comes nobody tells it`,
      });
    }
    return { ...waiter, watches: known(seen) };
  });
  const notes = [...snapshot.notes, ...stranded];
  return { ...snapshot, waiters: { kind: 'exact', list }, notes };
}

/** Those that wait at a gate watch one another there. */
function contendersOf({ record, convention }: WatchedQueue): {
  readonly parent: Text;
  readonly children: ZooKeeperRecord['children'];
  readonly read: ZooKeeperConvention['contender'];
} {
  const { gate } = convention;
  return record.gate === undefined || gate === undefined
    ? { parent: record.path, children: record.children, read: (name) => convention.contender(name) }
    : {
        parent: record.gate.path,
        children: record.gate.children,
        read: (name) => gate.contender(name),
      };
}

/** Who is first at the gate of a semaphore, or needs to pass none, waits for any permit to go. */
const childrenWatched = unknown(
  'it waits for any permit to go, by a watch on the children, and ZooKeeper lists watches of nodes only',
);

function holeOf(watches: Known<Watches>): Known<never> {
  if (watches.kind === 'known') return unknown('it belongs to no session');
  return unknown(watches.reason, watches.remedy);
}

/**
 * What the session watches: its predecessor, another contender, the parent, or nothing. Where not
 * every member told, a watch that is not seen may still be there: undefined.
 */
function watchOf(
  session: bigint | undefined,
  before: Text | undefined,
  queue: WatchedQueue,
): Text | 'nothing' | undefined {
  const { watches, chroot } = queue;
  const told = valueOf(watches);
  if (told === undefined || session === undefined || session === 0n) return undefined;
  const paths = told.get(session) ?? new Set<string>();
  const at = contendersOf(queue);
  const parent = rawPath(at.parent);
  const watched = (path: string): boolean => paths.has(chroot + path);
  if (before !== undefined && watched(childPath(parent, rawPath(before)))) return before;
  const other = at.children.find((child) => watched(childPath(parent, rawPath(child.name))));
  if (other !== undefined) return other.name;
  if (watched(parent)) return at.parent;
  return watches.kind === 'known' ? 'nothing' : undefined;
}
