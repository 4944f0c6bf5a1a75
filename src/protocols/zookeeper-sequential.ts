/**
 * The ZooKeeper lock recipe: a queue of ephemeral sequential nodes `_c_<guid>-lock-<number>` under
 * the lock's own node, each with its owner token as the data. The lowest number holds, its czxid is
 * the fence, every other contender watches the one before it only. The names are Curator's, so that
 * its mutexes queue with ours; the guid comes from the owner token, so that a node whose creation
 * was not answered is found again. Sequence numbers are no fence: they start again with the parent.
 */
import { isSessionExpired } from '../clients/zookeeper/answers.ts';
import { bytesToText } from '../domain/text.ts';
import { notOwner } from './failure.ts';
import type {
  AcquireRequest,
  Grant,
  LockClient,
  LockProtocol,
  MutationRole,
  ProtocolContext,
  Reply,
} from './protocol.ts';
import {
  bytesOf,
  failure,
  grantOf,
  isNoNode,
  isOver,
  Leases,
  lockPath,
  makeNodes,
  noSession,
  reachZooKeeper,
  tickMs,
  zooKeeperDefiniteCodes,
  zooKeeperWire,
  type LostListener,
} from './zookeeper-client.ts';
import { contendersOf, isOf, namePrefix, type Contender } from './zookeeper-contenders.ts';
import type { LeaseSession } from './zookeeper-lease.ts';
import { zooKeeperInterventions } from './zookeeper-interventions.ts';
import { observeZooKeeperLocks } from './zookeeper-observer.ts';

const ownNode = 'a contender deletes the node it made itself, whose name nobody else can have';

export const zooKeeperSequential: LockProtocol = {
  id: 'zookeeper-sequential',
  title: 'ZooKeeper queue of ephemeral sequential nodes, czxid as fence',
  family: 'zookeeper',
  fenced: true,
  fenceSource: "czxid of the holder's node",
  expiryGranularityMs: tickMs,
  definiteCodes: zooKeeperDefiniteCodes,
  mutations: {
    'release-without-owner-check': { prevented: ownNode },
    'renew-without-owner-check': {
      prevented: "a renewal is heard on one session and cannot lengthen another's",
    },
    'fence-does-not-grow': 'variant',
    'fence-outside-the-atomic-step': {
      prevented: 'the fence is the transaction that entered the queue itself',
    },
    'renew-drops-ttl': {
      prevented: 'a node is ephemeral from its creation on, and no renewal can change that',
    },
    'check-then-delete': { prevented: ownNode },
  },
  wire: zooKeeperWire(undefined),
  interventions: zooKeeperInterventions('queue'),
  async connect(context) {
    await reachZooKeeper(context);
    return new SequentialClient(context);
  },
  observe: (context) => observeZooKeeperLocks(context, 'queue'),
};

class SequentialClient implements LockClient {
  readonly #leases: Leases;
  readonly #mutation: MutationRole | undefined;

  constructor(context: ProtocolContext) {
    this.#leases = new Leases(context);
    this.#mutation = context.mutation;
  }

  async acquire(request: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    const deadlineMs = performance.now() + request.waitMs;
    let isNew = false;
    let reply: Reply<{ grant: Grant }>;
    try {
      const opened = await this.#leases.open(request);
      isNew = opened.isNew;
      reply = await this.#enter(request, opened.session, deadlineMs);
    } catch (error) {
      reply = failure(error);
    }
    if (isNew && reply.outcome === 'fail') this.#leases.end(request);
    return reply;
  }

  /** Enters the queue, unless there is somebody in it and no time to wait. */
  async #enter(
    request: AcquireRequest,
    session: LeaseSession,
    deadlineMs: number,
  ): Promise<Reply<{ grant: Grant }>> {
    const queue = await this.#queue(request.lock, session);
    const earlier = queue.find((contender) => isOf(contender, request.owner));
    if (earlier === undefined && queue.length > 0 && request.waitMs === 0) return busy;
    const name = earlier?.name ?? (await this.#create(request, session));
    try {
      return await this.#waitFirst(request, session, name, deadlineMs);
    } catch (error) {
      // With its session our node has gone, too. Otherwise it may still get the lock.
      if (isSessionExpired(error)) return { ...busy, detail: 'the session ended while waiting' };
      return { ...failure(error), outcome: 'unknown' };
    }
  }

  async #create({ lock, owner }: AcquireRequest, session: LeaseSession): Promise<string> {
    const prefix = `${lockPath(lock)}/${namePrefix(owner)}`;
    const path = await session.use((connection) =>
      connection.create(prefix, bytesOf(owner), 'ephemeral-sequential'),
    );
    return path.slice(path.lastIndexOf('/') + 1);
  }

  /** Waits until `name` is the first, and gives its place up when the time is over. */
  async #waitFirst(
    request: AcquireRequest,
    session: LeaseSession,
    name: string,
    deadlineMs: number,
  ): Promise<Reply<{ grant: Grant }>> {
    const path = lockPath(request.lock);
    const stopPinging = session.keepAlive();
    try {
      for (;;) {
        const queue = await session.persist(() => this.#queue(request.lock, session), deadlineMs);
        const at = queue.findIndex((contender) => contender.name === name);
        if (at === 0) return await this.#granted(request, session, `${path}/${name}`);
        const ahead = queue[at - 1];
        if (ahead === undefined) return { ...busy, detail: 'our place in the queue was deleted' };
        const leftMs = deadlineMs - performance.now();
        if (leftMs <= 0) {
          await removeIfThere(session, `${path}/${name}`);
          return busy;
        }
        const watch = () => session.watchFor(`${path}/${ahead.name}`, leftMs);
        await session.persist(watch, deadlineMs);
      }
    } finally {
      stopPinging();
    }
  }

  /** Contenders in their order; makes the lock's node where there is none. */
  async #queue(lock: string, session: LeaseSession): Promise<readonly Contender[]> {
    const path = lockPath(lock);
    try {
      const { children } = await session.use((connection) => connection.getChildren(path));
      return contendersOf(children);
    } catch (error) {
      if (!isNoNode(error)) throw error;
      await makeNodes(session, path);
      return [];
    }
  }

  /** Reads the fence from our own node and watches it: the holder is told of its loss. */
  async #granted(
    { owner }: AcquireRequest,
    session: LeaseSession,
    record: string,
  ): Promise<Reply<{ grant: Grant }>> {
    session.guard(record);
    const stat = await session.use((connection) => connection.exists(record, true));
    if (stat === undefined || session.lost !== undefined) {
      session.unguard();
      return { ...busy, detail: 'our node was deleted' };
    }
    // The broken variant takes the node's version, which is 0 for every grant.
    const fence = this.#mutation === 'fence-does-not-grow' ? BigInt(stat.version) : stat.czxid;
    return { outcome: 'ok', grant: grantOf(owner, session, record, fence) };
  }

  async confirm(request: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    const session = this.#leases.find(request);
    if (session === undefined) return notOwner(noSession);
    const path = lockPath(request.lock);
    try {
      await session.use((connection) => connection.sync(path));
      const { children } = await session.use((connection) => connection.getChildren(path));
      const [first] = contendersOf(children);
      if (first === undefined || !isOf(first, request.owner)) return notOwner();
      const record = `${path}/${first.name}`;
      const { data, stat } = await session.use((connection) => connection.getData(record));
      const ours = bytesToText(data) === request.owner && stat.ephemeralOwner === session.id;
      return ours ? await this.#granted(request, session, record) : notOwner();
    } catch (error) {
      return isOver(error) ? notOwner() : failure(error);
    }
  }

  /** The session lives on for the timeout that it was opened with, whatever is asked for. */
  async renew(lock: string, grant: Grant): Promise<Reply<{ grantedTtlMs: number }>> {
    const session = this.#leases.find({ lock, owner: grant.owner });
    if (session === undefined || session.lost !== undefined) return notOwner(session?.lost);
    try {
      const stat = await session.use((connection) => connection.exists(grant.record));
      if (stat !== undefined) return { outcome: 'ok', grantedTtlMs: session.timeoutMs };
      session.lose(`${grant.record} is gone`);
      return notOwner();
    } catch (error) {
      return isOver(error) ? notOwner() : failure(error);
    }
  }

  /**
   * Writes the node before deleting that version of it: who watches the node sees by that it was
   * released, not taken away.
   */
  async release(lock: string, grant: Grant): Promise<Reply<object>> {
    const { owner, record } = grant;
    const session = this.#leases.find({ lock, owner });
    if (session === undefined) return notOwner(noSession);
    session.unguard();
    try {
      const data = bytesOf(owner);
      const marked = await session.use((connection) => connection.setData(record, data, -1));
      if (marked.ephemeralOwner !== session.id) return notOwner();
      await session.use((connection) => connection.remove(record, marked.version));
      this.#leases.end({ lock, owner });
      return { outcome: 'ok' };
    } catch (error) {
      if (!isOver(error)) return failure(error);
      this.#leases.drop({ lock, owner });
      return notOwner();
    }
  }

  onLost(listener: LostListener): void {
    this.#leases.onLost(listener);
  }

  close(): Promise<void> {
    return this.#leases.close();
  }
}

const busy = { outcome: 'fail', code: 'busy' } as const;

async function removeIfThere(session: LeaseSession, path: string): Promise<void> {
  try {
    await session.use((connection) => connection.remove(path, -1));
  } catch (error) {
    if (!isNoNode(error)) throw error;
  }
}
