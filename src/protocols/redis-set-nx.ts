/**
 * The plain Redis lock: SET NX PX with a random owner token, compare-and-delete by script. It has
 * no fence, so nothing stops the late write of a paused owner; and no record of past grants, so its
 * observer knows only what it happened to see.
 */
import type { OwnerToken } from '../domain/holder.ts';
import { textToBytes } from '../domain/text.ts';
import {
  noFence,
  type AcquireRequest,
  type Grant,
  type LockClient,
  type LockObserver,
  type LockProtocol,
  type MutationRole,
  type ObservedEnd,
  type ObservedGrant,
  type ObservedState,
  type ServerConnections,
  type ProtocolContext,
  type Reply,
} from './protocol.ts';
import { removeString } from './redis-interventions.ts';
import { pollWhileBusy } from './poll.ts';
import * as scripts from './redis-string-scripts.ts';
import { redisWire, refused, runScript, ttlOf } from './redis-client.ts';
import { items, redisDefiniteCodes, type RedisLink, type RedisSender } from './redis-link.ts';
import { openRedisLink, redisServers } from './open-redis-link.ts';
import {
  clientAddresses,
  connectionsOf,
  LockTrack,
  read,
  serverTime,
  unlinkByPrefix,
} from './redis-observer.ts';

export const redisSetNx: LockProtocol = {
  id: 'redis-set-nx',
  title: 'Redis SET NX PX with an owner token, no fence',
  family: 'redis',
  fenced: false,
  fenceSource: undefined,
  expiryGranularityMs: 1,
  definiteCodes: ['busy', 'not-owner', ...redisDefiniteCodes],
  mutations: {
    'release-without-owner-check': 'variant',
    'renew-without-owner-check': 'variant',
    'fence-does-not-grow': noFence,
    'fence-outside-the-atomic-step': noFence,
    'renew-drops-ttl': 'variant',
    'check-then-delete': 'variant',
  },
  wire: redisWire,
  interventions: { 'remove-record': removeString },
  servers: redisServers,
  async connect(context) {
    return setNxClient(await openRedisLink(context), context);
  },
  async observe(context) {
    return new SetNxObserver(await openRedisLink(context));
  },
};

/** The plain client on a connection of the caller's. */
export function setNxClient(link: RedisSender, context: ProtocolContext): LockClient {
  return new SetNxClient(link, context);
}

class SetNxClient implements LockClient {
  readonly #link: RedisSender;
  readonly #mutation: MutationRole | undefined;
  readonly #random: () => number;

  constructor(link: RedisSender, context: ProtocolContext) {
    this.#link = link;
    this.#mutation = context.mutation;
    this.#random = context.random ?? Math.random;
  }

  /** Unlike a fenced acquire, a repetition with the same token is `busy`: SET NX cannot tell. */
  acquire(request: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    return pollWhileBusy(() => this.#set(request), request.waitMs, this.#random);
  }

  async #set({ lock, owner, leaseMs }: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    const sentNs = process.hrtime.bigint();
    const reply = await this.#link.send('SET', lock, textToBytes(owner), 'NX', 'PX', leaseMs);
    if (reply.outcome !== 'ok') return reply;
    if (reply.value === undefined) return { outcome: 'fail', code: 'busy' };
    // PX is exact, and a read-back would be a second request.
    return { outcome: 'ok', grant: grantOf(lock, owner, leaseMs, sentNs) };
  }

  async confirm({ lock, owner }: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    const sentNs = process.hrtime.bigint();
    const reply = await runScript(this.#link, scripts.confirm, [lock], [textToBytes(owner)]);
    if (reply.outcome !== 'ok') return reply;
    if (reply.word !== 'ok') return refused(reply);
    return { outcome: 'ok', grant: grantOf(lock, owner, ttlOf(reply.rest[0]), sentNs) };
  }

  async renew(
    lock: string,
    grant: Grant,
    leaseMs: number,
  ): Promise<Reply<{ grantedTtlMs: number }>> {
    let script = scripts.renew;
    if (this.#mutation === 'renew-without-owner-check') script = scripts.renewAnyone;
    if (this.#mutation === 'renew-drops-ttl') script = scripts.renewDroppingTtl;
    const reply = await runScript(this.#link, script, [lock], [textToBytes(grant.owner), leaseMs]);
    if (reply.outcome !== 'ok') return reply;
    if (reply.word !== 'ok') return refused(reply);
    // The variant without a TTL believes what it asked for, as its real counterparts do.
    const grantedTtlMs = script === scripts.renewDroppingTtl ? leaseMs : ttlOf(reply.rest[0]);
    return { outcome: 'ok', grantedTtlMs };
  }

  async release(lock: string, grant: Grant): Promise<Reply<object>> {
    const args = [textToBytes(grant.owner)];
    let script = scripts.release;
    if (this.#mutation === 'release-without-owner-check') script = scripts.releaseAnyone;
    if (this.#mutation === 'check-then-delete') {
      const mine = await runScript(this.#link, scripts.confirm, [lock], args);
      if (mine.outcome !== 'ok') return mine;
      if (mine.word !== 'ok') return refused(mine);
      script = scripts.releaseAnyone;
    }
    const reply = await runScript(this.#link, script, [lock], args);
    if (reply.outcome !== 'ok') return reply;
    return reply.word === 'ok' ? { outcome: 'ok' } : refused(reply);
  }

  /** Redis tells nobody that a key expired: a failing renewal is how a holder finds out. */
  onLost(): void {
    return;
  }

  close(): Promise<void> {
    this.#link.close();
    return Promise.resolve();
  }
}

function grantOf(lock: string, owner: OwnerToken, grantedTtlMs: number, sentNs: bigint): Grant {
  return {
    owner,
    fence: undefined,
    grantedTtlMs,
    validUntilNs: sentNs + BigInt(grantedTtlMs) * 1_000_000n,
    record: lock,
  };
}

class SetNxObserver implements LockObserver {
  readonly #link: RedisLink;
  readonly #tracks = new Map<string, LockTrack>();

  constructor(link: RedisLink) {
    this.#link = link;
  }

  serverTimeMs(): Promise<number> {
    return serverTime(this.#link);
  }

  async state(lock: string): Promise<ObservedState> {
    const reply = read(this.#link.send('EVAL', scripts.observe, 1, lock), `lock ${lock}`);
    const [now, owner, ttl] = items(await reply);
    const held = typeof owner === 'string' ? owner : undefined;
    const ttlMs = typeof ttl === 'bigint' && ttl >= 0n ? Number(ttl) : undefined;
    this.#track(lock).add({ atMs: Number(now), owner: held, ttlMs, leaseMs: undefined });
    if (held === undefined) return { kind: 'absent' };
    return { kind: 'held', owner: held, fence: undefined, ttlMs, record: lock };
  }

  /** Only grants that a look at the record showed: one that came and went between two is missing. */
  async grants(lock: string): Promise<readonly ObservedGrant[]> {
    await this.state(lock);
    return this.#track(lock)
      .owners()
      .map((owner, index) => ({ owner, fence: undefined, order: BigInt(index) }));
  }

  /** A release leaves no trace here, so it reads as `removed-early`. */
  async end(lock: string, owner: OwnerToken): Promise<ObservedEnd> {
    await this.state(lock);
    return { owner, order: undefined, ...this.#track(lock).end(owner) };
  }

  clientAddresses(): Promise<readonly string[] | undefined> {
    return clientAddresses(this.#link);
  }

  connectionsOf(clientName: string): Promise<readonly ServerConnections[]> {
    return connectionsOf(this.#link, clientName);
  }

  cleanUp(prefix: string): Promise<void> {
    return unlinkByPrefix(this.#link, prefix);
  }

  close(): Promise<void> {
    this.#link.close();
    return Promise.resolve();
  }

  #track(lock: string): LockTrack {
    const track = this.#tracks.get(lock) ?? new LockTrack();
    this.#tracks.set(lock, track);
    return track;
  }
}
