/**
 * One ephemeral node, created only where there is none, as hand-made locks and leader flags are,
 * with the owner token as its data. It has no queue, and its users take no number from it. It is
 * released by ending its session, which takes away this grant's node and no other: deleting it by
 * version would not do, because the next holder's node has the same name and the same version 0.
 */
import { isNodeError, zooKeeperCodes } from '../clients/zookeeper/errors.ts';
import { bytesToText } from '../domain/text.ts';
import { notOwner } from './failure.ts';
import { pollWhileBusy } from './poll.ts';
import {
  noFence,
  type AcquireRequest,
  type Grant,
  type LockClient,
  type LockProtocol,
  type MutationRole,
  type ProtocolContext,
  type Reply,
} from './protocol.ts';
import {
  bytesOf,
  failure,
  grantOf,
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
import { LeaseSession } from './zookeeper-lease.ts';
import { zooKeeperInterventions } from './zookeeper-interventions.ts';
import { observeZooKeeperLocks } from './zookeeper-observer.ts';

export const zooKeeperPlainEphemeral: LockProtocol = {
  id: 'zookeeper-plain-ephemeral',
  title: 'one ephemeral ZooKeeper node, no fence',
  family: 'zookeeper',
  fenced: false,
  fenceSource: undefined,
  expiryGranularityMs: tickMs,
  definiteCodes: zooKeeperDefiniteCodes,
  mutations: {
    'release-without-owner-check': 'variant',
    'renew-without-owner-check': {
      prevented: "a renewal is heard on one session and cannot lengthen another's",
    },
    'fence-does-not-grow': noFence,
    'fence-outside-the-atomic-step': noFence,
    'renew-drops-ttl': {
      prevented: 'a node is ephemeral from its creation on, and no renewal can change that',
    },
    'check-then-delete': 'variant',
  },
  wire: zooKeeperWire('release'),
  interventions: zooKeeperInterventions('node'),
  async connect(context) {
    await reachZooKeeper(context);
    return new PlainEphemeralClient(context);
  },
  observe: (context) => observeZooKeeperLocks(context, 'node'),
};

class PlainEphemeralClient implements LockClient {
  readonly #context: ProtocolContext;
  readonly #leases: Leases;
  readonly #mutation: MutationRole | undefined;
  readonly #random: () => number;

  constructor(context: ProtocolContext) {
    this.#context = context;
    this.#leases = new Leases(context);
    this.#mutation = context.mutation;
    this.#random = context.random ?? Math.random;
  }

  async acquire(request: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    let isNew = false;
    let reply: Reply<{ grant: Grant }>;
    try {
      const opened = await this.#leases.open(request);
      isNew = opened.isNew;
      await makeParent(opened.session, lockPath(request.lock));
      const attempt = () => this.#tryOnce(request, opened.session);
      reply = await pollWhileBusy(attempt, request.waitMs, this.#random);
    } catch (error) {
      reply = failure(error);
    }
    // Nothing hangs on this session; ending it would look like a release on the wire.
    if (isNew && reply.outcome === 'fail') this.#leases.drop(request);
    return reply;
  }

  async #tryOnce(request: AcquireRequest, session: LeaseSession): Promise<Reply<{ grant: Grant }>> {
    try {
      const path = lockPath(request.lock);
      const data = bytesOf(request.owner);
      await session.use((connection) => connection.create(path, data, 'ephemeral'));
      return await this.#granted(request, session);
    } catch (error) {
      const taken = isNodeError(error, zooKeeperCodes.nodeExists);
      return taken ? { outcome: 'fail', code: 'busy' } : failure(error);
    }
  }

  async #granted(
    { lock, owner }: AcquireRequest,
    session: LeaseSession,
  ): Promise<Reply<{ grant: Grant }>> {
    const record = lockPath(lock);
    session.guard(record);
    const stat = await session.use((connection) => connection.exists(record, true));
    if (stat?.ephemeralOwner !== session.id || session.lost !== undefined) {
      session.unguard();
      return { outcome: 'fail', code: 'busy', detail: 'our node was deleted' };
    }
    return { outcome: 'ok', grant: grantOf(owner, session, record, undefined) };
  }

  async confirm(request: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    const session = this.#leases.find(request);
    if (session === undefined) return notOwner(noSession);
    try {
      await session.use((connection) => connection.sync(lockPath(request.lock)));
      const ours = await this.#isOurs(request, session);
      return ours ? await this.#granted(request, session) : notOwner();
    } catch (error) {
      return isOver(error) ? notOwner() : failure(error);
    }
  }

  async #isOurs(
    { lock, owner }: Pick<AcquireRequest, 'lock' | 'owner'>,
    session: LeaseSession,
  ): Promise<boolean> {
    const path = lockPath(lock);
    const { data, stat } = await session.use((connection) => connection.getData(path));
    return bytesToText(data) === owner && stat.ephemeralOwner === session.id;
  }

  /** The session lives on for the timeout that it was opened with, whatever is asked for. */
  async renew(lock: string, grant: Grant): Promise<Reply<{ grantedTtlMs: number }>> {
    const session = this.#leases.find({ lock, owner: grant.owner });
    if (session === undefined || session.lost !== undefined) return notOwner(session?.lost);
    try {
      const stat = await session.use((connection) => connection.exists(grant.record));
      if (stat?.ephemeralOwner === session.id) {
        return { outcome: 'ok', grantedTtlMs: session.timeoutMs };
      }
      session.lose(`${grant.record} is gone`);
      return notOwner();
    } catch (error) {
      return isOver(error) ? notOwner() : failure(error);
    }
  }

  async release(lock: string, grant: Grant): Promise<Reply<object>> {
    const { owner, record } = grant;
    const session = this.#leases.find({ lock, owner });
    if (session === undefined) return notOwner(noSession);
    session.unguard();
    if (this.#mutation === 'release-without-owner-check') return this.#deleteByName(record);
    try {
      if (this.#mutation === 'check-then-delete') {
        return (await this.#isOurs({ lock, owner }, session))
          ? await this.#deleteByName(record)
          : notOwner();
      }
      const stat = await session.use((connection) => connection.exists(record, true));
      if (stat?.ephemeralOwner !== session.id) return notOwner();
      await session.use((connection) => connection.closeSession());
      this.#leases.drop({ lock, owner });
      return { outcome: 'ok' };
    } catch (error) {
      return isOver(error) ? notOwner() : failure(error);
    }
  }

  /** The broken variant: whoever holds it, at any version, and in a new session if need be. */
  async #deleteByName(path: string): Promise<Reply<object>> {
    try {
      const session = await LeaseSession.open(this.#context, tickMs);
      try {
        await session.use((connection) => connection.remove(path, -1));
        return { outcome: 'ok' };
      } finally {
        session.drop();
      }
    } catch (error) {
      return isOver(error) ? notOwner() : failure(error);
    }
  }

  onLost(listener: LostListener): void {
    this.#leases.onLost(listener);
  }

  close(): Promise<void> {
    return this.#leases.close();
  }
}

async function makeParent(session: LeaseSession, path: string): Promise<void> {
  const parent = path.slice(0, path.lastIndexOf('/'));
  if (parent === '') return;
  const stat = await session.use((connection) => connection.exists(parent, true));
  if (stat === undefined) await makeNodes(session, parent);
}
