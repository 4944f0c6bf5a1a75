/**
 * Reads ZooKeeper locks from the outside, in a session of its own: the present holder by reads
 * after a sync, past grants and their ends by following each lock from the first time it is asked
 * about. Whether a session ran out is told by the members' own lists of connections.
 */
import { InternalError } from '../domain/errors.ts';
import type { OwnerToken } from '../domain/holder.ts';
import type {
  LockObserver,
  ObservedEnd,
  ObservedGrant,
  ObservedState,
  ProtocolContext,
} from './protocol.ts';
import { isNotEmpty, isNoNode, lockPath, reachZooKeeper } from './zookeeper-client.ts';
import { LockFollower, type ZooKeeperLayout } from './zookeeper-follow.ts';
import { LeaseSession } from './zookeeper-lease.ts';
import { SessionTrack } from './zookeeper-sessions.ts';

const sessionMs = 10_000;
const shortestPrefix = 8;

/** Opens its own session. @throws {FencepostError} */
export async function observeZooKeeperLocks(
  context: Omit<ProtocolContext, 'mutation'>,
  layout: ZooKeeperLayout,
): Promise<LockObserver> {
  await reachZooKeeper(context);
  const session = await LeaseSession.open(context, sessionMs);
  const track = new SessionTrack(context.target, context.requestTimeoutMs);
  return new ZooKeeperObserver(session, track, layout);
}

class ZooKeeperObserver implements LockObserver {
  readonly #session: LeaseSession;
  readonly #track: SessionTrack;
  readonly #layout: ZooKeeperLayout;
  readonly #stopPinging: () => void;
  readonly #followers = new Map<string, LockFollower>();

  constructor(session: LeaseSession, track: SessionTrack, layout: ZooKeeperLayout) {
    this.#session = session;
    this.#track = track;
    this.#layout = layout;
    this.#stopPinging = session.keepAlive();
  }

  /** ZooKeeper does not tell its clock to clients. */
  serverTimeMs(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async state(lock: string): Promise<ObservedState> {
    const { present } = await this.#read(lock);
    if (present === undefined) return { kind: 'absent' };
    const { owner, record } = present;
    // The server does not say how much of a session's timeout is left.
    return { kind: 'held', owner, fence: this.#fence(present.fence), ttlMs: undefined, record };
  }

  async grants(lock: string): Promise<readonly ObservedGrant[]> {
    const { holds } = await this.#read(lock);
    return holds.map(({ owner, fence, order }) => ({ owner, fence: this.#fence(fence), order }));
  }

  async end(lock: string, owner: OwnerToken): Promise<ObservedEnd> {
    const follower = await this.#read(lock);
    const hold = follower.holds.findLast((one) => one.owner === owner);
    if (hold?.end !== undefined) return { owner, ...(await hold.end) };
    const witness =
      hold === undefined
        ? `this owner was never seen as the holder; ${follower.completeness}`
        : 'the node is still there';
    return { owner, cause: 'unknown', order: undefined, witness };
  }

  /** Undefined when no member tells, or not every one. */
  async clientAddresses(): Promise<readonly string[] | undefined> {
    const connections = await this.#track.connections();
    if (connections.kind !== 'known') return undefined;
    const others = [...connections.value.values()].filter(
      ({ sessionId }) => sessionId !== this.#session.id,
    );
    return others.map(({ address }) => address);
  }

  async cleanUp(prefix: string): Promise<void> {
    if (prefix.length < shortestPrefix) {
      throw new InternalError(`refusing to clean up under the short prefix "${prefix}"`, {
        code: 'short-prefix',
      });
    }
    await this.#removeTree(lockPath(prefix));
  }

  async close(): Promise<void> {
    this.#stopPinging();
    this.#track.close();
    await this.#session.close();
  }

  #fence(czxid: bigint): bigint | undefined {
    return this.#layout === 'queue' ? czxid : undefined;
  }

  async #read(lock: string): Promise<LockFollower> {
    const follower =
      this.#followers.get(lock) ?? new LockFollower(this.#session, this.#track, this.#layout, lock);
    this.#followers.set(lock, follower);
    await follower.read();
    return follower;
  }

  /** Children first; again when somebody puts one there meanwhile. */
  async #removeTree(path: string): Promise<void> {
    try {
      for (;;) {
        const { children } = await this.#session.use((connection) => connection.getChildren(path));
        for (const child of children) await this.#removeTree(`${path}/${child}`);
        try {
          await this.#session.use((connection) => connection.remove(path, -1));
          return;
        } catch (error) {
          if (!isNotEmpty(error)) throw error;
        }
      }
    } catch (error) {
      if (!isNoNode(error)) throw error;
    }
  }
}
