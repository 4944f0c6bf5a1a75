/** Looks at one node again: is it still the grant that was seen, and if not, who has the lock now. */
import { valueOf } from '../../domain/known.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import { stringToText } from '../../domain/text.ts';
import { isNodeError, isRefused, zooKeeperCodes } from '../../clients/zookeeper/errors.ts';
import type { NodeStat, Session } from '../../clients/zookeeper/session.ts';
import type { NodeIdentity } from './identity.ts';
import type { ZooKeeperConventions } from './recognise.ts';
import { parentOf, readRecord } from './records.ts';

/** What stands at the path of a grant. */
export type Look =
  | { readonly kind: 'same'; readonly data: Buffer; readonly stat: NodeStat }
  | { readonly kind: 'gone' }
  | { readonly kind: 'changed'; readonly now: string }
  | { readonly kind: 'refused'; readonly reason: string; readonly remedy?: string };

export interface LookWorld {
  readonly session: Session;
  readonly conventions: ZooKeeperConventions;
}

/**
 * Reads the parent, then the node.
 * @throws {TargetError} neither can be read
 */
export async function look(
  { session, conventions }: LookWorld,
  grant: NodeIdentity,
  seen: LockSnapshot,
): Promise<Look> {
  try {
    const otherParent = await lookAtParent(session, grant);
    if (otherParent !== undefined) return otherParent;
    const { data, stat } = await session.getData(grant.path);
    return compare(grant, seen, { data, stat });
  } catch (error) {
    if (isNodeError(error, zooKeeperCodes.noNode))
      return await afterGone({ session, conventions }, grant, seen);
    if (isRefused(error)) return { kind: 'refused', reason: 'this identity may not read the node' };
    throw error;
  }
}

async function lookAtParent(session: Session, grant: NodeIdentity): Promise<Look | undefined> {
  if (grant.parentCzxid === undefined) return undefined;
  const parent = await session.exists(parentOf(grant.path) ?? '/');
  if (parent === undefined) return { kind: 'gone' };
  if (parent.czxid === grant.parentCzxid) return undefined;
  return {
    kind: 'refused',
    reason: `its parent was created again (czxid ${grant.parentCzxid} → ${parent.czxid}): sequence numbers began anew`,
    remedy: 'plan again',
  };
}

function compare(
  grant: NodeIdentity,
  seen: LockSnapshot,
  now: { readonly data: Buffer; readonly stat: NodeStat },
): Look {
  const { stat } = now;
  if (stat.czxid !== grant.czxid) {
    const what = `${namesBefore({ grant, seen })} → another node of that name, czxid ${stat.czxid}`;
    return { kind: 'changed', now: what };
  }
  if (grant.version !== undefined && stat.version !== grant.version) {
    const what = `its data were written since (version ${grant.version} → ${stat.version})`;
    return { kind: 'changed', now: what };
  }
  if (stat.numChildren > 0) {
    return {
      kind: 'refused',
      reason: `the node has ${stat.numChildren} children: a lock’s own node has none, and nothing is deleted with its children`,
    };
  }
  return { kind: 'same', ...now };
}

/** Of an exclusive lock, whoever holds it now has taken it over. */
async function afterGone(
  { session, conventions }: LookWorld,
  grant: NodeIdentity,
  seen: LockSnapshot,
): Promise<Look> {
  if (grant.parentCzxid === undefined || seen.mode !== 'exclusive') return { kind: 'gone' };
  try {
    const read = await readRecord(session, parentOf(grant.path) ?? '/');
    if (read === undefined) return { kind: 'gone' };
    const decoded = conventions.byId(grant.convention).decode(read.record);
    const [next] = valueOf(decoded.holders) ?? [];
    if (next === undefined) return { kind: 'gone' };
    const czxid = decoded.fence.kind === 'token' ? `, czxid ${decoded.fence.token}` : '';
    return {
      kind: 'changed',
      now: `${namesBefore({ grant, seen })} → gone; ${next.record ?? ''} (${next.owner}${czxid}) holds it`,
    };
  } catch (error) {
    // The parent went too, or hides its children: that the node is gone is certain all the same.
    if (isNodeError(error, zooKeeperCodes.noNode) || isRefused(error)) return { kind: 'gone' };
    throw error;
  }
}

/** The grant that was seen, in a few words. */
export function namesBefore(of: {
  readonly grant: NodeIdentity;
  readonly seen: LockSnapshot;
}): string {
  const path = stringToText(of.grant.path);
  const holders = valueOf(of.seen.holders) ?? [];
  const owner = holders.find(({ record }) => record !== undefined && path.endsWith(record))?.owner;
  return `${owner ?? path} (czxid ${of.grant.czxid})`;
}
