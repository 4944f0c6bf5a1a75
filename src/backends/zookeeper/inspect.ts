/** Reads one lock in full: contenders in order, sessions and their clients, who watches whom. */
import type { ZooKeeperRecord } from '../../conventions/convention.ts';
import { known, unknown, valueOf } from '../../domain/known.ts';
import type {
  LockDetail,
  LockRef,
  LockSnapshot,
  OwnerEvidence,
  ServerView,
} from '../../domain/lock.ts';
import { UsageError } from '../../domain/errors.ts';
import type { Target } from '../../domain/target.ts';
import { stringToText, type Text } from '../../domain/text.ts';
import { isNodeError, isRefused, zooKeeperCodes } from '../../clients/zookeeper/errors.ts';
import type { Session } from '../../clients/zookeeper/session.ts';
import { withSharedSession } from './ephemerals.ts';
import { readConnections, readWatches } from '../../clients/zookeeper/members.ts';
import {
  forced,
  isNoLayout,
  recognise,
  unclaimed,
  type ZooKeeperConventions,
} from './recognise.ts';
import { bareRecord, nodeName, parentOf, rawPath, readRecord, type ReadRecord } from './records.ts';
import { nodeOf, toSnapshot, type Connections, type Recognized } from './snapshot.ts';
import { withWatches } from './watching.ts';

export interface InspectWorld {
  readonly session: Session;
  readonly target: Target;
  readonly server: ServerView;
  readonly conventions: ZooKeeperConventions;
  readonly timeoutMs: number;
}

/**
 * The lock of that name; a contender's full path means that contender, in its parent's lock.
 * @returns undefined when there is no such node
 * @throws {UsageError} the path is not one
 */
export async function inspectLock(
  world: InspectWorld,
  ref: LockRef,
): Promise<LockDetail | undefined> {
  const path = checkedPath(ref.name);
  const own = await readRecord(world.session, path);
  if (own === undefined) return undefined;
  const { read, recognized, focus } =
    (own.record.children.length === 0 ? await asContender(world, path, ref) : undefined) ??
    asLock(world, own, ref);
  const [connections, watches] = await Promise.all([
    readConnections(world.target, world.timeoutMs),
    readWatches(world.target, world.timeoutMs),
  ]);
  const { record } = read;
  const { convention } = recognized;
  const snapshot = toSnapshot({
    record,
    parentCzxid: record.node.czxid,
    recognized,
    connections,
    server: world.server,
    hiddenChildren: read.hidden,
    focus,
  });
  const chroot = chrootOf(world.target);
  const watched = withWatches(snapshot, { record, convention, watches, chroot });
  const shared = await withSharedSession(world, watched, { record, chroot });
  return {
    ...shared,
    evidence: evidenceOf(shared, record, connections),
    facts: { parentCversion: String(record.cversion) },
  };
}

/** With its slash; empty for none. */
function chrootOf({ path }: Target): string {
  const inner = path.replace(/^\/+|\/+$/g, '');
  return inner === '' ? '' : `/${inner}`;
}

function checkedPath(name: Text): string {
  const path = rawPath(name);
  if (/^\/(?:[^/]+(?:\/[^/]+)*)?$/.test(path)) return path;
  throw new UsageError(`"${name}" is not a node path`, {
    code: 'bad-path',
    hint: 'paths begin with / and do not end with it, such as /locks/orders',
    definite: true,
  });
}

interface Found {
  readonly read: ReadRecord;
  readonly recognized: Recognized;
  /** The contender that was asked for by its full path. */
  readonly focus: Text | undefined;
}

/** Set when the path names one contender of its parent's queue: the names there tell. */
async function asContender(
  { session, conventions }: InspectWorld,
  path: string,
  ref: LockRef,
): Promise<Found | undefined> {
  const parent = parentOf(path);
  if (parent === undefined) return undefined;
  const names = await namesBelow(session, parent);
  if (names === undefined) return undefined;
  const recognized =
    ref.convention === undefined
      ? recognise(names, conventions, undefined)
      : forced(conventions.byId(ref.convention));
  const focus = stringToText(nodeName(path));
  if (recognized === undefined || recognized.recognition.confidence === 'low') return undefined;
  if (recognized.convention.contender(focus) === undefined) return undefined;
  const read = await readRecord(session, parent);
  return read === undefined ? undefined : { read, recognized, focus };
}

/** Undefined when the parent is gone, or this identity may not list it. */
async function namesBelow(session: Session, path: string): Promise<ZooKeeperRecord | undefined> {
  try {
    const [{ children }, own] = await Promise.all([
      session.getChildren(path),
      session.getData(path),
    ]);
    return bareRecord(path, children, own);
  } catch (error) {
    if (isRefused(error) || isNodeError(error, zooKeeperCodes.noNode)) return undefined;
    throw error;
  }
}

/** What was found without a layout is looked at afresh: it may have contenders by now. */
function asLock({ conventions }: InspectWorld, read: ReadRecord, ref: LockRef): Found {
  const named = ref.convention !== undefined && !isNoLayout(ref.convention);
  const recognized = named
    ? forced(conventions.byId(ref.convention))
    : (recognise(read.record, conventions, undefined) ?? unclaimed(read.record));
  return { read, recognized, focus: undefined };
}

/** A session that ended would have taken its ephemeral with it: a live node means a live session. */
function evidenceOf(
  snapshot: LockSnapshot,
  record: ZooKeeperRecord,
  connections: Connections,
): readonly OwnerEvidence[] {
  const holder = valueOf(snapshot.holders)?.[0];
  const node = nodeOf(holder?.record, record);
  if (node === undefined) return [];
  if (node.ephemeralOwner === 0n) {
    return [
      {
        name: 'session',
        source: 'ephemeralOwner',
        points: 'none',
        finding: known('the node is persistent: it outlives its client'),
      },
    ];
  }
  return [connectionEvidence(node.ephemeralOwner, connections)];
}

function connectionEvidence(sessionId: bigint, connections: Connections): OwnerEvidence {
  const base = { name: 'owner-connection', source: 'AdminServer or cons' } as const;
  const seen = valueOf(connections)?.get(sessionId);
  if (seen !== undefined) {
    const last = seen.lastOperation === '' ? '' : `, last operation ${seen.lastOperation ?? '?'}`;
    return {
      ...base,
      points: 'likely-alive',
      finding: known(`connected from ${seen.address} to ${seen.member}${last}`),
    };
  }
  return connections.kind === 'known'
    ? {
        ...base,
        points: 'likely-dead',
        finding: known('no member has a connection of this session: it is running out'),
      }
    : { ...base, points: 'none', finding: unknown(connections.reason, connections.remedy) };
}
