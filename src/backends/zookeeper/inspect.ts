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
import type { Target } from '../../domain/target.ts';
import { stringToText } from '../../domain/text.ts';
import { readConnections, readWatches } from '../../clients/zookeeper/members.ts';
import { withSharedSession } from './ephemerals.ts';
import { findLock, type FindWorld } from './find.ts';
import { readIdentity } from './identity.ts';
import { nodeName } from './records.ts';
import { nodeOf, toSnapshot, type Connections } from './snapshot.ts';
import { withWatches } from './watching.ts';

export interface InspectWorld extends FindWorld {
  readonly target: Target;
  readonly server: ServerView;
  readonly timeoutMs: number;
}

/**
 * The lock of that name; a contender's full path means that contender, in its parent's lock.
 * @returns undefined when there is no such node
 * @throws {UsageError} the name is no path, or the convention is not known
 */
export async function inspectLock(
  world: InspectWorld,
  ref: LockRef,
): Promise<LockDetail | undefined> {
  const found = await findLock(world, ref);
  if (found === undefined) return undefined;
  const { read, recognized, focus } = found;
  const [connections, watches] = await Promise.all([
    readConnections(world.target, world.timeoutMs),
    readWatches(world.target, world.timeoutMs),
  ]);
  const { record } = read;
  const snapshot = toSnapshot({
    record,
    recognized,
    connections,
    server: world.server,
    hiddenChildren: read.hidden,
    focus,
  });
  const chroot = chrootOf(world.target);
  const { convention } = recognized;
  const watched = withWatches(snapshot, { record, convention, watches, chroot });
  const shared = await withSharedSession(world, watched, chroot);
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

/** A session that ended would have taken its ephemeral with it: a live node means a live session. */
function evidenceOf(
  snapshot: LockSnapshot,
  record: ZooKeeperRecord,
  connections: Connections,
): readonly OwnerEvidence[] {
  if (snapshot.identity === undefined) return [];
  const { path } = readIdentity(snapshot.identity);
  const node = nodeOf(stringToText(nodeName(path)), record);
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
