/**
 * Observer of the fenced Redis protocol: the stream written by the granting and releasing scripts
 * is the ordered witness; what leaves no entry (expiry, deletion by others) is told from looks.
 */
import {
  fencedEntryFields,
  fencedEntryTypes,
  fencedHistoryLength,
  fencedKeys,
} from '../domain/fenced-layout.ts';
import type { OwnerToken } from '../domain/holder.ts';
import { stringToText } from '../domain/text.ts';
import type {
  LockObserver,
  LockProtocol,
  ObservedEnd,
  ObservedGrant,
  ObservedState,
} from './protocol.ts';
import { observe } from './redis-fenced-scripts.ts';
import { items, openRedisLink, type RedisLink, type RedisValue } from './redis-link.ts';
import { clientAddresses, LockTrack, read, serverTime, unlinkByPrefix } from './redis-observer.ts';

export const observeRedisFenced: LockProtocol['observe'] = async (context) =>
  new FencedObserver(await openRedisLink(context));

interface Entry {
  readonly order: bigint;
  readonly type: string;
  readonly owner: OwnerToken;
  readonly fence: bigint | undefined;
}

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
    const entries = await this.#entries(lock);
    return entries
      .filter((entry) => entry.type === fencedEntryTypes.grant)
      .map(({ owner, fence, order }) => ({ owner, fence, order }));
  }

  async end(lock: string, owner: OwnerToken): Promise<ObservedEnd> {
    await this.state(lock);
    const entries = await this.#entries(lock);
    const from = entries.findLastIndex(
      (entry) => entry.type === fencedEntryTypes.grant && entry.owner === owner,
    );
    const after = from === -1 ? [] : entries.slice(from + 1);
    const next = after.findIndex((entry) => entry.type === fencedEntryTypes.grant);
    const ending = (next === -1 ? after : after.slice(0, next))[0];
    if (ending === undefined) {
      const { cause, witness } = this.#track(lock).end(owner);
      return { owner, cause, order: undefined, witness: `no release entry; ${witness}` };
    }
    const own = ending.type === fencedEntryTypes.release && ending.owner === owner;
    return {
      owner,
      cause: own ? 'released' : 'removed-early',
      order: ending.order,
      witness: own
        ? 'release entry of this owner in the history stream'
        : `${ending.type} entry of ${ending.owner} in the history stream`,
    };
  }

  clientAddresses(): Promise<readonly string[] | undefined> {
    return clientAddresses(this.#link);
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

  async #entries(lock: string): Promise<readonly Entry[]> {
    const key = fencedKeys(lock).history;
    const value = await read(
      this.#link.send('XRANGE', key, '-', '+', 'COUNT', 2 * fencedHistoryLength),
      `history of lock ${lock}`,
    );
    return items(value).flatMap(toEntry);
  }
}

function toEntry(value: RedisValue): readonly Entry[] {
  const [id, pairs] = items(value);
  if (typeof id !== 'string') return [];
  const list = items(pairs);
  const fields = new Map<RedisValue, RedisValue>();
  for (let at = 0; at < list.length; at += 2) fields.set(list[at], list[at + 1]);
  const get = (name: string): RedisValue => fields.get(stringToText(name));
  const [type, owner] = [get(fencedEntryFields.type), get(fencedEntryFields.owner)];
  if (typeof type !== 'string' || typeof owner !== 'string') return [];
  const fence = toFence(get(fencedEntryFields.fence));
  return [{ order: streamOrder(id), type, owner, fence }];
}

/** A stream id `ms-n` as one growing number below 2^63: no millisecond has a million entries. */
function streamOrder(id: string): bigint {
  const [ms = '0', sequence = '0'] = id.split('-');
  return (BigInt(ms) << 20n) | BigInt(sequence);
}

function toFence(value: RedisValue): bigint | undefined {
  return typeof value === 'string' && /^\d+$/.test(value) ? BigInt(value) : undefined;
}
