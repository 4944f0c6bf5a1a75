/** Reads one lock in full: contenders in order, sessions and their clients, who watches whom. */
import type { ZooKeeperRecord } from '../../conventions/convention.ts';
import { sequentialNodes } from '../../conventions/plain-zookeeper.ts';
import { predecessorOf, orderContenders } from '../../conventions/zookeeper-queue.ts';
import type { Waiter } from '../../domain/holder.ts';
import { known, unknown, valueOf } from '../../domain/known.ts';
import type {
  LockDetail,
  LockNote,
  LockRef,
  LockSnapshot,
  OwnerEvidence,
  ServerView,
} from '../../domain/lock.ts';
import { UsageError } from '../../domain/errors.ts';
import { displayTarget, type Target } from '../../domain/target.ts';
import { stringToText, type Text } from '../../domain/text.ts';
import type { Session } from '../../clients/zookeeper/session.ts';
import { readConnections, readWatches, type Watches } from '../../clients/zookeeper/members.ts';
import { forced, recognise, type ZooKeeperConventions } from './recognise.ts';
import { childPath, nodeName, rawPath, readRecord } from './records.ts';
import { nodeOf, toSnapshot, type Connections, type Recognized } from './snapshot.ts';

export interface InspectWorld {
  readonly session: Session;
  readonly target: Target;
  readonly server: ServerView;
  readonly conventions: ZooKeeperConventions;
  readonly timeoutMs: number;
}

/**
 * The lock of that name; a contender's full path means its parent's lock, and that contender.
 * @returns undefined when there is no such node
 * @throws {UsageError} the path is not one, or the forced layout has no contender there
 */
export async function inspectLock(
  world: InspectWorld,
  ref: LockRef,
): Promise<LockDetail | undefined> {
  const path = checkedPath(ref.name);
  const own = await readRecord(world.session, path, () => true);
  if (own === undefined) return undefined;
  const parent = parentOf(path);
  const parentRead =
    own.record.children.length === 0 && parent !== undefined
      ? await readRecord(world.session, parent, () => true)
      : undefined;
  const asContender =
    parentRead === undefined
      ? undefined
      : contenderIn(world.conventions, parentRead.record, path, ref);
  const read = asContender === undefined || parentRead === undefined ? own : parentRead;
  const recognized = asContender ?? claim(world.conventions, own.record, ref);
  const [connections, watches] = await Promise.all([
    readConnections(world.target, world.timeoutMs),
    readWatches(world.target, world.timeoutMs),
  ]);
  const snapshot = toSnapshot({
    record: read.record,
    parentCzxid: read.record.node.czxid,
    recognized,
    connections,
    server: world.server,
    hiddenChildren: read.hidden,
    focus: asContender === undefined ? undefined : stringToText(nodeName(path)),
  });
  const watched = withWatches(snapshot, read.record, recognized, watches, world.target);
  return { ...watched, evidence: evidenceOf(watched, read.record, connections), facts: {} };
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

function parentOf(path: string): string | undefined {
  if (path === '/') return undefined;
  const at = path.lastIndexOf('/');
  return at === 0 ? '/' : path.slice(0, at);
}

/** Set when the path names one contender of its parent's queue. */
function contenderIn(
  conventions: ZooKeeperConventions,
  record: ZooKeeperRecord,
  path: string,
  ref: LockRef,
): Recognized | undefined {
  const found =
    ref.convention === undefined
      ? recognise(record, conventions, undefined)
      : forced(conventions.byId(ref.convention));
  if (found === undefined || found.recognition.confidence === 'low') return undefined;
  return found.convention.contender(stringToText(nodeName(path))) === undefined ? undefined : found;
}

function claim(
  conventions: ZooKeeperConventions,
  record: ZooKeeperRecord,
  ref: LockRef,
): Recognized {
  if (ref.convention !== undefined) return forced(conventions.byId(ref.convention));
  const found = recognise(record, conventions, undefined);
  if (found !== undefined) return found;
  return {
    convention: sequentialNodes,
    recognition: {
      convention: 'none',
      title: record.children.length === 0 ? 'empty node' : 'no lock layout recognised',
      confidence: 'low',
      candidates: [],
      forced: false,
    },
  };
}

/** Says of each waiter whether it watches its predecessor; one that watches nothing is stranded. */
function withWatches(
  snapshot: LockSnapshot,
  record: ZooKeeperRecord,
  { convention }: Recognized,
  watches: ReturnType<typeof unknown> | Awaited<ReturnType<typeof readWatches>>,
  target: Target,
): LockSnapshot {
  if (snapshot.waiters.kind !== 'exact') return snapshot;
  const ordered = orderContenders(record, (name) => convention.contender(name));
  const chroot = target.path === '' ? '' : `/${target.path.replace(/^\/+|\/+$/g, '')}`;
  const stranded: LockNote[] = [];
  const list = snapshot.waiters.list.map((waiter): Waiter => {
    const position = ordered.findIndex((one) => one.node.name === waiter.record);
    const before = predecessorOf(ordered, position)?.node.name;
    const session = ordered[position]?.node.ephemeralOwner;
    const seen = watchOf(session, record, before, valueOf(watches), chroot);
    if (seen === undefined) return { ...waiter, watches: holeOf(watches) };
    if (seen === 'nothing' && watches.kind === 'known') {
      stranded.push({
        code: 'stranded-waiter',
        severity: 'warn',
        text: `${waiter.record ?? ''} watches nothing: when its turn comes nobody tells it`,
      });
    }
    return { ...waiter, watches: known(seen) };
  });
  return {
    ...snapshot,
    waiters: { kind: 'exact', list },
    notes: [...snapshot.notes, ...stranded],
  };
}

function holeOf(watches: Awaited<ReturnType<typeof readWatches>>): ReturnType<typeof unknown> {
  return watches.kind === 'known'
    ? unknown('it belongs to no session')
    : unknown(watches.reason, watches.remedy);
}

/** What the session watches: its predecessor, another contender, the parent, or nothing. */
function watchOf(
  session: bigint | undefined,
  record: ZooKeeperRecord,
  before: Text | undefined,
  watches: Watches | undefined,
  chroot: string,
): Text | 'nothing' | undefined {
  if (watches === undefined || session === undefined || session === 0n) return undefined;
  const paths = watches.get(session) ?? new Set<string>();
  const parent = rawPath(record.path);
  const watched = (path: string): boolean => paths.has(chroot + path);
  if (before !== undefined && watched(childPath(parent, rawPath(before)))) return before;
  const other = record.children.find((child) => watched(childPath(parent, rawPath(child.name))));
  if (other !== undefined) return other.name;
  return watched(parent) ? record.path : 'nothing';
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

export function serverView(target: Target): ServerView {
  return {
    endpoint: displayTarget(target),
    role: unknown('the client does not tell which member it is connected to'),
  };
}
