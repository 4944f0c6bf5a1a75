/**
 * Lists locks by walking the tree. A parent costs one request; of its contenders only the holders
 * are read, the others are counted by name.
 */
import type { LockQuery, ListTally } from '../backend.ts';
import type { ZooKeeperChild, ZooKeeperRecord } from '../../conventions/convention.ts';
import { sequentialNodes } from '../../conventions/plain-zookeeper.ts';
import { globMatcher } from '../../domain/glob.ts';
import { valueOf, unknown } from '../../domain/known.ts';
import { unrecognised, type LockSnapshot, type ServerView } from '../../domain/lock.ts';
import { stringToText, type Text } from '../../domain/text.ts';
import type { Session } from '../../clients/zookeeper/session.ts';
import {
  interrupted,
  isNodeError,
  isRefused,
  zooKeeperCodes,
} from '../../clients/zookeeper/errors.ts';
import { isGate, withGateNames } from './gate.ts';
import { recognise, unclaimed, type ZooKeeperConventions } from './recognise.ts';
import {
  bareRecord,
  nodeName,
  rawPath,
  readChild,
  readRecord,
  toChild,
  type ReadChild,
} from './records.ts';
import { toSnapshot, type Recognized } from './snapshot.ts';
import { walk, walkConcurrency, type WalkedNode } from './tree.ts';

export interface ListWorld {
  readonly session: Session;
  readonly server: ServerView;
  readonly conventions: ZooKeeperConventions;
  readonly admit: () => Promise<void>;
}

const noData = Buffer.alloc(0);
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
    if (signal.aborted) throw interrupted();
    tally.read += 1 + node.children.filter(isContender).length;
    if (!wanted(world, node, query) || contendsAbove(node, query)) continue;
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
    return specific.some(
      (convention) =>
        convention.contender(text) !== undefined || convention.helper?.(text) === true,
    );
  };
}

/** By its path, or by the name that its layout gives it. */
function wanted({ conventions }: ListWorld, { path }: WalkedNode, { pattern }: LockQuery): boolean {
  if (pattern === undefined) return true;
  const matches = globMatcher([pattern]);
  const text = stringToText(path);
  return matches(text) || conventions.all.some((one) => isNamed(one.nameOf?.(text), matches));
}

/** Whether its parent's row has this node already, as a contender of any sequential layout. */
function contendsAbove(
  { path, stat }: WalkedNode,
  { lockPatterns, conventions, all }: LockQuery,
): boolean {
  const name = stringToText(nodeName(path));
  if (stat.ephemeralOwner === 0n || sequentialNodes.contender(name) === undefined) return false;
  if (conventions?.includes(sequentialNodes.id) === false) return false;
  const parent = stringToText(path.slice(0, path.lastIndexOf('/')));
  return all || globMatcher(lockPatterns)(parent);
}

function isNamed(name: Text | undefined, matches: (name: Text) => boolean): boolean {
  return name !== undefined && matches(name);
}

async function snapshotOf(
  world: ListWorld,
  node: WalkedNode,
  query: LockQuery,
  tally: ListTally,
): Promise<LockSnapshot | undefined> {
  const { session, conventions } = world;
  const seen = await readAsNeeded(world, node);
  if (seen === undefined) return undefined;
  const recognized = claim(conventions, seen.record, query);
  if (recognized === undefined) {
    // A node with children is a folder, not a record.
    if (seen.record.node.ephemeralOwner === 0n && node.children.length > 0) return undefined;
    tally.others += 1;
    return query.all ? plainNode(world, seen.record) : undefined;
  }
  if (await isGate(session, seen.record.path, conventions)) return undefined;
  const { record, hidden } = seen.complete
    ? seen
    : await readHolders(session, seen.record, recognized);
  tally.hidden += hidden;
  const snapshot = toSnapshot({
    record: await withGateNames(session, record, recognized.convention),
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

interface Seen {
  readonly record: ZooKeeperRecord;
  readonly hidden: number;
  /** The data of every child was read. */
  readonly complete: boolean;
}

/** Names are enough for most layouts; where one wants the data, all of it is read. */
async function readAsNeeded(
  { session, conventions }: ListWorld,
  node: WalkedNode,
): Promise<Seen | undefined> {
  const bare = bareRecord(node.path, node.children, { data: noData, stat: node.stat });
  const names: Seen = { record: bare, hidden: 0, complete: false };
  if (!conventions.all.some((convention) => convention.needsData?.(bare) === true)) return names;
  try {
    const read = await readRecord(session, node.path);
    return read === undefined ? undefined : { ...read, complete: true };
  } catch (error) {
    // The node's own data may be hidden where its children are not.
    if (isRefused(error)) return { ...names, hidden: 1 };
    throw error;
  }
}

function plainNode({ server }: ListWorld, record: ZooKeeperRecord): LockSnapshot {
  return toSnapshot({
    record,
    recognized: unclaimed(record),
    connections: noConnections,
    server,
    hiddenChildren: 0,
    focus: undefined,
  });
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
  const free = unclaimed(record);
  const lock = free.recognition.convention !== unrecognised && query.conventions === undefined;
  return lock && (named || query.all) ? free : undefined;
}

/** Reads the holders; where they vanished since the walk, those that hold next. */
async function readHolders(
  session: Session,
  bare: ZooKeeperRecord,
  { convention }: Recognized,
): Promise<{ readonly record: ZooKeeperRecord; readonly hidden: number }> {
  const parent = rawPath(bare.path);
  const read = new Map<Text, ReadChild | 'gone'>();
  let record = bare;
  for (;;) {
    const holders = valueOf(convention.decode(record).holders) ?? [];
    const names = holders.flatMap((holder) => holder.record ?? []);
    if (bare.children.length === 0 && names.includes(bare.node.name)) {
      return { record: { ...bare, node: await readSelf(session, parent, bare) }, hidden: 0 };
    }
    const unread = names.filter((name) => !read.has(name));
    if (unread.length === 0) {
      const hidden = [...read.values()].filter((one) => one !== 'gone' && one.hidden).length;
      return { record, hidden };
    }
    await Promise.all(
      unread.map(async (name) => read.set(name, await readChild(session, parent, rawPath(name)))),
    );
    record = { ...bare, children: bare.children.flatMap((child) => fresh(child, read)) };
  }
}

function fresh(
  child: ZooKeeperChild,
  read: ReadonlyMap<Text, ReadChild | 'gone'>,
): ZooKeeperChild | [] {
  const found = read.get(child.name);
  if (found === undefined) return child;
  return found === 'gone' ? [] : found.child;
}

async function readSelf(
  session: Session,
  path: string,
  bare: ZooKeeperRecord,
): Promise<ZooKeeperChild> {
  try {
    const { data, stat } = await session.getData(path);
    return toChild(nodeName(path), data, stat);
  } catch (error) {
    // Gone or hidden since the walk: what the walk saw stays.
    if (isNodeError(error, zooKeeperCodes.noNode) || isRefused(error)) return bare.node;
    throw error;
  }
}
