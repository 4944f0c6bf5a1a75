/**
 * What the Redis observers share: the server's clock, client addresses, clean-up, and the track of
 * looks at one lock from which the end of a grant is told.
 */
import { InternalError, TargetError } from '../domain/errors.ts';
import type { OwnerToken } from '../domain/holder.ts';
import type { Reply, ServerConnections } from './protocol.ts';
import { items, type RedisLink, type RedisSender, type RedisValue } from './redis-link.ts';

/** The value of an observer's read. @throws {TargetError} `observation-failed` */
export async function read(
  request: Promise<Reply<{ value: RedisValue }>>,
  what: string,
): Promise<RedisValue> {
  const reply = await request;
  if (reply.outcome === 'ok') return reply.value;
  throw new TargetError(`the observer could not read ${what}: ${reply.detail ?? reply.code}`, {
    code: 'observation-failed',
    definite: true,
  });
}

/** Epoch ms by the server's TIME. */
export async function serverTime(link: RedisLink): Promise<number> {
  const [primary] = await link.primaries();
  const value = await read((primary ?? link).send('TIME'), 'TIME');
  const [seconds, micros] = items(value);
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}

/** Addresses of all connections but our own; undefined when no server tells. */
export async function clientAddresses(link: RedisLink): Promise<readonly string[] | undefined> {
  const seen = await connectionsOf(link, undefined);
  const lists = seen.flatMap(({ addresses }) => (addresses === undefined ? [] : [addresses]));
  return lists.length === 0 ? undefined : lists.flat();
}

/** Connections but our own, on every server of the link; with `clientName`: those called so. */
export async function connectionsOf(
  link: RedisLink,
  clientName: string | undefined,
): Promise<readonly ServerConnections[]> {
  return Promise.all(
    (await link.servers()).map(async (server) => ({
      server: server.name,
      addresses: await clientsOf(server, clientName),
    })),
  );
}

async function clientsOf(
  server: Pick<RedisSender, 'send'>,
  clientName: string | undefined,
): Promise<readonly string[] | undefined> {
  const own = await server.send('CLIENT', 'ID');
  const list = await server.send('CLIENT', 'LIST');
  if (own.outcome !== 'ok' || list.outcome !== 'ok' || typeof list.value !== 'string') {
    return undefined;
  }
  // Line ends arrive escaped, as everything from the server does.
  return list.value.split('\\n').flatMap((line) => {
    const id = /(?:^| )id=(\d+)/.exec(line)?.[1];
    const address = /(?:^| )addr=(\S+)/.exec(line)?.[1];
    const name = /(?:^| )name=(\S*)/.exec(line)?.[1];
    if (id === undefined || address === undefined || id === String(own.value)) return [];
    return clientName === undefined || name === clientName ? [address] : [];
  });
}

const pageSize = 500;
const shortestPrefix = 8;

/** Unlinks every key that begins with `keyPrefix`, page by page, on each server that holds keys. */
export async function unlinkByPrefix(link: RedisLink, keyPrefix: string): Promise<void> {
  if (keyPrefix.length < shortestPrefix) {
    throw new InternalError(`refusing to clean up under the short prefix "${keyPrefix}"`, {
      code: 'short-prefix',
    });
  }
  const pattern = `${keyPrefix.replace(/[\\*?[\]]/g, '\\$&')}*`;
  for (const primary of await link.primaries()) await unlinkMatching(primary, pattern);
}

async function unlinkMatching(server: Pick<RedisSender, 'send'>, pattern: string): Promise<void> {
  let cursor = '0';
  do {
    const page = await read(
      server.send('SCAN', cursor, 'MATCH', pattern, 'COUNT', pageSize),
      'keys of this run',
    );
    const [next, keys] = items(page);
    cursor = typeof next === 'string' ? next : '0';
    const names = items(keys).filter((key) => typeof key === 'string');
    // Key by key: in a cluster a command takes only keys of one slot.
    await Promise.all(names.map((name) => read(server.send('UNLINK', name), 'UNLINK')));
  } while (cursor !== '0');
}

/** One look at a lock record; times in ms by the server's clock. */
export interface Look {
  readonly atMs: number;
  readonly owner: OwnerToken | undefined;
  /** Undefined: no TTL, or no record. */
  readonly ttlMs: number | undefined;
  /** Lease as granted or last renewed, where the record says: less than that left has fallen. */
  readonly leaseMs: number | undefined;
}

interface Seen {
  first: Look;
  last: Look;
  /** The time left was seen to run down: between two looks, or below the lease in the record. */
  fell: boolean;
  /** First look that no longer showed this owner. */
  goneAtMs: number | undefined;
}

function hasFallen(look: Look, fromMs: number | undefined): boolean {
  return look.ttlMs !== undefined && look.ttlMs < (fromMs ?? -Infinity);
}

/** Remembers what the looks at one lock showed of each owner. */
export class LockTrack {
  readonly #seen = new Map<OwnerToken, Seen>();

  add(look: Look): void {
    for (const [owner, seen] of this.#seen) {
      if (owner !== look.owner) seen.goneAtMs ??= look.atMs;
    }
    if (look.owner === undefined) return;
    const seen = this.#seen.get(look.owner);
    if (seen === undefined) {
      const fell = hasFallen(look, look.leaseMs);
      this.#seen.set(look.owner, { first: look, last: look, fell, goneAtMs: undefined });
      return;
    }
    seen.fell ||= hasFallen(look, look.leaseMs) || hasFallen(look, seen.last.ttlMs);
    seen.last = look;
    seen.goneAtMs = undefined;
  }

  /** Owners in the order in which they were first seen. */
  owners(): readonly OwnerToken[] {
    return [...this.#seen.keys()];
  }

  /** How the looks say the hold of `owner` ended, deletions by a release left aside. */
  end(owner: OwnerToken): {
    readonly cause: 'expired' | 'removed-early' | 'unknown';
    readonly witness: string;
  } {
    const seen = this.#seen.get(owner);
    if (seen === undefined) return { cause: 'unknown', witness: 'this owner was never seen' };
    const { last, goneAtMs, fell } = seen;
    if (goneAtMs === undefined) return { cause: 'unknown', witness: 'the record is still there' };
    if (last.ttlMs === undefined) {
      return { cause: 'removed-early', witness: 'the record had no TTL and is gone' };
    }
    const deadlineMs = last.atMs + last.ttlMs;
    const lateMs = goneAtMs - deadlineMs;
    if (lateMs < 0) {
      return {
        cause: 'removed-early',
        witness: `gone ${-lateMs} ms before its deadline by the server's clock`,
      };
    }
    const witness = `TTL ${seen.first.ttlMs ?? 'none'} → ${last.ttlMs} ms; gone when looked at ${lateMs} ms after its deadline by the server's clock`;
    return { cause: fell ? 'expired' : 'unknown', witness };
  }
}
