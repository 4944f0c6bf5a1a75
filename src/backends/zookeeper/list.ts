/**
 * Lists locks by walking the tree. A parent costs one request; of its contenders only the holders
 * are read, the others are counted by name.
 */
import type { LockQuery, ListTally } from '../backend.ts';
import type { ZooKeeperChild, ZooKeeperRecord } from '../../conventions/convention.ts';
import { sequentialNodes } from '../../conventions/plain-zookeeper.ts';
import { globMatcher } from '../../domain/glob.ts';
import { valueOf, unknown } from '../../domain/known.ts';
import type { LockSnapshot, ServerView } from '../../domain/lock.ts';
import { stringToText, type Text } from '../../domain/text.ts';
import type { Session } from '../../clients/zookeeper/session.ts';
import { isNodeError, isRefused, zooKeeperCodes } from '../../clients/zookeeper/errors.ts';
import { recognise, type ZooKeeperConventions } from './recognise.ts';
import { nodeName, readChild, toChild } from './records.ts';
import { toSnapshot, type Recognized } from './snapshot.ts';
import { walk, walkConcurrency, type WalkedNode } from './tree.ts';

export interface ListWorld {
  readonly session: Session;
  readonly server: ServerView;
  readonly conventions: ZooKeeperConventions;
  readonly admit: () => Promise<void>;
}

const noConnections = unknown('a listing does not ask the members', '`show` does');

/** Locks below the pattern's fixed part. The tally is updated as nodes are read. */
export async function* listLocks(
  world: ListWorld,
  query: LockQuery,
  tally: ListTally,
  signal: AbortSignal,
): AsyncGenerator<LockSnapshot> {
  const isContender = contenderTest(world.conventions);
  const nodes = walk(
    world.session,
    {
      root: rootOf(query.pattern),
      descend: (parent, child) =>
        !isContender(child) && !(parent.path === '/' && child === 'zookeeper'),
      onHidden: () => {
        tally.hidden += 1;
      },
      admit: world.admit,
    },
    signal,
  );
  const pending: Promise<LockSnapshot | undefined>[] = [];
  for await (const node of nodes) {
    tally.read += 1 + node.children.filter(isContender).length;
    if (!wanted(node, query)) continue;
    pending.push(snapshotOf(world, node, query, tally));
    if (pending.length >= walkConcurrency) {
      const lock = await pending.shift();
      if (lock !== undefined) yield lock;
    }
  }
  for (const one of pending) {
    const lock = await one;
    if (lock !== undefined) yield lock;
  }
}

/** The deepest node that every match lies below: nothing outside it is walked. */
function rootOf(pattern: Text | undefined): string {
  if (pattern?.startsWith('/') !== true) return '/';
  const fixed = pattern.slice(0, pattern.search(/[*?[]|$/));
  const end = fixed.lastIndexOf('/');
  return end <= 0 ? '/' : fixed.slice(0, end);
}

/** Conventions sure enough by the name alone; "any sequential node" is decided by the parent. */
function contenderTest({ all }: ZooKeeperConventions): (name: string) => boolean {
  const specific = all.filter((convention) => convention !== sequentialNodes);
  return (name) => {
    const text = stringToText(name);
    return specific.some((convention) => convention.contender(text) !== undefined);
  };
}

function wanted(node: WalkedNode, query: LockQuery): boolean {
  return query.pattern === undefined || globMatcher([query.pattern])(stringToText(node.path));
}

async function snapshotOf(
  world: ListWorld,
  node: WalkedNode,
  query: LockQuery,
  tally: ListTally,
): Promise<LockSnapshot | undefined> {
  const bare = bareRecord(node);
  const recognized = claim(world.conventions, bare, query);
  if (recognized === undefined) {
    if (bare.node.ephemeralOwner === 0n && node.children.length > 0) return undefined;
    tally.others += 1;
    return undefined;
  }
  const { record, hidden } = await readHolders(world.session, bare, recognized);
  if (hidden > 0) tally.hidden += hidden;
  const snapshot = toSnapshot({
    record,
    parentCzxid: node.stat.czxid,
    recognized,
    connections: noConnections,
    server: world.server,
    hiddenChildren: hidden,
    focus: undefined,
  });
  const { waiters } = snapshot;
  if (waiters.kind !== 'exact') return snapshot;
  return {
    ...snapshot,
    waiters: { kind: 'count', count: waiters.list.length, source: 'names of the children' },
  };
}

/** Names only: enough to order contenders and to know the layout. */
function bareRecord(node: WalkedNode): ZooKeeperRecord {
  const empty = { data: stringToText(''), czxid: 0n, version: 0, ephemeralOwner: 1n };
  return {
    system: 'zookeeper',
    path: stringToText(node.path),
    node: toChild(nodeName(node.path), Buffer.alloc(0), node.stat),
    cversion: node.stat.cversion,
    children: node.children.map((name) => ({ ...empty, name: stringToText(name) })),
  };
}

/** A low-confidence claim counts only where the name says lock; `all` lists everything that holds. */
function claim(
  conventions: ZooKeeperConventions,
  record: ZooKeeperRecord,
  query: LockQuery,
): Recognized | undefined {
  const named = globMatcher(query.lockPatterns)(record.path);
  const found = recognise(record, conventions, query.conventions);
  if (found !== undefined) {
    return found.recognition.confidence !== 'low' || named || query.all ? found : undefined;
  }
  // An empty parent whose contenders came and went is a free lock.
  const usedParent = record.children.length === 0 && record.cversion > 0;
  return usedParent && (named || query.all) ? freeLock : undefined;
}

const freeLock: Recognized = {
  convention: sequentialNodes,
  recognition: {
    convention: 'empty-parent',
    title: 'empty parent (library unknown)',
    confidence: 'low',
    candidates: [],
    forced: false,
  },
};

/** Reads the data of the holders; those that vanished are left out, the next one then holds. */
async function readHolders(
  session: Session,
  bare: ZooKeeperRecord,
  recognized: Recognized,
): Promise<{ record: ZooKeeperRecord; hidden: number }> {
  const holders = valueOf(recognized.convention.decode(bare).holders) ?? [];
  const read = new Map<Text, ZooKeeperChild | 'gone' | 'hidden'>();
  let node = bare.node;
  await Promise.all(
    holders.map(async (holder) => {
      if (holder.record === undefined) return;
      if (holder.record === bare.node.name && bare.children.length === 0) {
        node = await readSelf(session, bare);
        return;
      }
      read.set(holder.record, await readChild(session, bare.path, holder.record));
    }),
  );
  const children = bare.children.flatMap((child) => {
    const fresh = read.get(child.name);
    return fresh === 'gone' ? [] : [typeof fresh === 'object' ? fresh : child];
  });
  const hidden = [...read.values()].filter((one) => one === 'hidden').length;
  return { record: { ...bare, node, children }, hidden };
}

async function readSelf(session: Session, bare: ZooKeeperRecord): Promise<ZooKeeperChild> {
  try {
    const { data, stat } = await session.getData(bare.path);
    return toChild(bare.node.name, data, stat);
  } catch (error) {
    // Gone or hidden since the walk: what the walk saw stays.
    if (isNodeError(error, zooKeeperCodes.noNode) || isRefused(error)) return bare.node;
    throw error;
  }
}
