/**
 * Observer of the fenced Redis protocol: the stream written by the granting and releasing scripts
 * is the ordered witness; what leaves no entry (expiry, deletion by others) is told from looks.
 */
import { fencedKeys } from '../domain/fenced-layout.ts';
import type { OwnerToken } from '../domain/holder.ts';
import type {
  LockObserver,
  LockProtocol,
  ObservedEnd,
  ObservedGrant,
  ObservedState,
  ServerConnections,
} from './protocol.ts';
import { endIn, grantsIn, readHistory, toFence } from './redis-fenced-history.ts';
import { observe } from './redis-fenced-scripts.ts';
import { items, type RedisLink } from './redis-link.ts';
import { openRedisLink } from './open-redis-link.ts';
import {
  clientAddresses,
  connectionsOf,
  LockTrack,
  read,
  serverTime,
  unlinkByPrefix,
} from './redis-observer.ts';

export const observeRedisFenced: LockProtocol['observe'] = async (context) =>
  new FencedObserver(await openRedisLink(context));

class FencedObserver implements LockObserver {
  readonly #link: RedisLink;
  readonly #tracks = new Map<string, LockTrack>();

  constructor(link: RedisLink) {
    this.#link = link;
  }

  serverTimeMs(): Promise<number> {
    return serverTime(this.#link);
  }

  async state(lock: string): Promise<ObservedState> {
    const keys = fencedKeys(lock);
    const value = await read(
      this.#link.send('EVAL', observe, 3, keys.lock, keys.fence, keys.history),
      `lock ${lock}`,
    );
    const [now, owner, fence, ttl, lease] = items(value);
    const held = typeof owner === 'string' ? owner : undefined;
    const ttlMs = typeof ttl === 'bigint' && ttl >= 0n ? Number(ttl) : undefined;
    const leaseMs = typeof lease === 'string' ? Number(lease) : undefined;
    this.#track(lock).add({ atMs: Number(now), owner: held, ttlMs, leaseMs });
    if (held === undefined) return { kind: 'absent' };
    return { kind: 'held', owner: held, fence: toFence(fence), ttlMs, record: keys.lock };
  }

  async grants(lock: string): Promise<readonly ObservedGrant[]> {
    return grantsIn(await readHistory(this.#link, lock));
  }

  async end(lock: string, owner: OwnerToken): Promise<ObservedEnd> {
    await this.state(lock);
    return endIn(await readHistory(this.#link, lock), owner, this.#track(lock));
  }

  clientAddresses(): Promise<readonly string[] | undefined> {
    return clientAddresses(this.#link);
  }

  connectionsOf(clientName: string): Promise<readonly ServerConnections[]> {
    return connectionsOf(this.#link, clientName);
  }

  cleanUp(prefix: string): Promise<void> {
    // The three keys of a lock share what comes before its name.
    const [before = ''] = fencedKeys('|').lock.split('|');
    return unlinkByPrefix(this.#link, `${before}${prefix}`);
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
