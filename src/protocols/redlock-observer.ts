/**
 * Observer of Redlock: reads every server directly, and says who has a majority. A server that
 * cannot be read counts as one that does not have the lock; without a majority of readable ones
 * nothing can be said.
 */
import { TargetError } from '../domain/errors.ts';
import { fencedKeys } from '../domain/fenced-layout.ts';
import type { FencingToken } from '../domain/fence.ts';
import type { OwnerToken } from '../domain/holder.ts';
import type {
  LockObserver,
  ObservedEnd,
  ObservedGrant,
  ObservedState,
  ServerConnections,
  ProtocolContext,
} from './protocol.ts';
import { endIn, grantsIn, readHistory } from './redis-fenced-history.ts';
import { items, type RedisValue } from './redis-link.ts';
import { clientAddresses, connectionsOf, serverTime, unlinkByPrefix } from './redis-observer.ts';
import { observe } from './redis-string-scripts.ts';
import { openRedlockNodes, type RedlockNodes } from './redlock-nodes.ts';
import { RedlockTrack } from './redlock-track.ts';

export async function observeRedlock(
  context: Omit<ProtocolContext, 'mutation'>,
  fenced: boolean,
): Promise<LockObserver> {
  const nodes = await openRedlockNodes(context);
  return fenced ? new FencedRedlockObserver(nodes) : new RedlockObserver(nodes);
}

/** The record on one server. */
interface Part {
  readonly server: number;
  /** By the clock of that server, epoch ms. */
  readonly atMs: number;
  readonly owner: OwnerToken | undefined;
  /** Infinity without a TTL. */
  readonly ttlMs: number;
}

class RedlockObserver implements LockObserver {
  protected readonly nodes: RedlockNodes;
  readonly #tracks = new Map<string, RedlockTrack>();

  constructor(nodes: RedlockNodes) {
    this.nodes = nodes;
  }

  async serverTimeMs(): Promise<number> {
    for (const link of this.nodes.links) {
      const time = await serverTime(link).catch(asTargetError);
      if (typeof time === 'number') return time;
    }
    throw unreadable('the time', 0, this.nodes.links.length);
  }

  async state(lock: string): Promise<ObservedState> {
    const { links, majority } = this.nodes;
    const replies = await Promise.all(links.map((link) => link.send('EVAL', observe, 1, lock)));
    const parts = replies.flatMap((reply, server) =>
      reply.outcome === 'ok' ? [toPart(items(reply.value), server)] : [],
    );
    const track = this.track(lock);
    for (const { server, owner, ttlMs, atMs } of parts) {
      track.add(server, { atMs, owner, ttlMs: finite(ttlMs), leaseMs: undefined });
    }
    if (parts.length < majority) throw unreadable(`lock ${lock}`, parts.length, links.length);
    const holders = byOwner(parts);
    const [owner, ttls = []] = [...holders].find(([, held]) => held.length >= majority) ?? [];
    // The majority is lost when the least needed of its records goes.
    const ttlMs = finite([...ttls].sort((a, b) => b - a)[majority - 1] ?? Infinity);
    if (owner !== undefined) {
      track.held(owner);
      return { kind: 'held', owner, fence: await this.fenceOf(lock, owner), ttlMs, record: lock };
    }
    if (holders.size === 0) return { kind: 'absent' };
    return { kind: 'absent', partial: partialText(holders, links.length) };
  }

  protected fenceOf(_lock: string, _owner: OwnerToken): Promise<FencingToken | undefined> {
    return Promise.resolve(undefined);
  }

  /** Only grants that a look showed: one that came and went between two is missing. */
  async grants(lock: string): Promise<readonly ObservedGrant[]> {
    await this.state(lock);
    return this.track(lock)
      .owners()
      .map((owner, index) => ({ owner, fence: undefined, order: BigInt(index) }));
  }

  /** A release leaves no trace here, so it reads as `removed-early`. */
  async end(lock: string, owner: OwnerToken): Promise<ObservedEnd> {
    await this.state(lock);
    return { owner, order: undefined, ...this.track(lock).end(owner) };
  }

  async clientAddresses(): Promise<readonly string[] | undefined> {
    const lists = await Promise.all(this.nodes.links.map((link) => clientAddresses(link)));
    return lists.every((list) => list === undefined) ? undefined : lists.flatMap((l) => l ?? []);
  }

  async connectionsOf(clientName: string): Promise<readonly ServerConnections[]> {
    const { links } = this.nodes;
    return (await Promise.all(links.map((link) => connectionsOf(link, clientName)))).flat();
  }

  async cleanUp(prefix: string): Promise<void> {
    const [before = ''] = fencedKeys('|').lock.split('|');
    for (const link of this.nodes.links) {
      await unlinkByPrefix(link, prefix);
      await unlinkByPrefix(link, `${before}${prefix}`);
    }
  }

  close(): Promise<void> {
    this.nodes.close();
    return Promise.resolve();
  }

  protected track(lock: string): RedlockTrack {
    const { links, majority } = this.nodes;
    const track = this.#tracks.get(lock) ?? new RedlockTrack(links.length, majority);
    this.#tracks.set(lock, track);
    return track;
  }
}

/** The first server lists the grants in order, with their numbers. */
class FencedRedlockObserver extends RedlockObserver {
  readonly #fences = new Map<OwnerToken, FencingToken>();

  protected override async fenceOf(
    lock: string,
    owner: OwnerToken,
  ): Promise<FencingToken | undefined> {
    if (!this.#fences.has(owner)) await this.grants(lock);
    return this.#fences.get(owner);
  }

  override async grants(lock: string): Promise<readonly ObservedGrant[]> {
    const grants = grantsIn(await readHistory(this.nodes.links[0], lock));
    for (const { owner, fence } of grants) {
      if (fence !== undefined) this.#fences.set(owner, fence);
    }
    return grants;
  }

  override async end(lock: string, owner: OwnerToken): Promise<ObservedEnd> {
    await this.state(lock);
    return endIn(await readHistory(this.nodes.links[0], lock), owner, this.track(lock));
  }
}

function finite(ttlMs: number): number | undefined {
  return ttlMs === Infinity ? undefined : ttlMs;
}

function toPart([at, owner, ttl]: readonly RedisValue[], server: number): Part {
  return {
    server,
    atMs: Number(at),
    owner: typeof owner === 'string' ? owner : undefined,
    ttlMs: typeof ttl === 'bigint' && ttl >= 0n ? Number(ttl) : Infinity,
  };
}

function byOwner(parts: readonly Part[]): ReadonlyMap<OwnerToken, readonly number[]> {
  const holders = new Map<OwnerToken, number[]>();
  for (const { owner, ttlMs } of parts) {
    if (owner !== undefined) holders.set(owner, [...(holders.get(owner) ?? []), ttlMs]);
  }
  return holders;
}

/** `split: a on 2, b on 1 of 5 servers`. */
function partialText(holders: ReadonlyMap<OwnerToken, readonly number[]>, servers: number): string {
  const shares = [...holders].map(([owner, ttls]) => `${owner} on ${ttls.length}`);
  return `${holders.size > 1 ? 'split' : 'partial'}: ${shares.join(', ')} of ${servers} servers`;
}

function unreadable(what: string, readable: number, servers: number): TargetError {
  return new TargetError(
    `the observer could not read ${what}: ${readable} of ${servers} servers answer`,
    { code: 'observation-failed', definite: true },
  );
}

function asTargetError(error: unknown): TargetError {
  if (error instanceof TargetError) return error;
  throw error;
}
