/**
 * Arenas of the release race on Redis: a plain string, our fenced lock and Redisson's hash, each
 * taken and lost as its own library does it, by raw clients.
 */
import type { Cluster, Redis } from 'ioredis';
import { fencedFields, fencedKeys } from '../../../src/domain/fenced-layout.ts';
import { valueOf } from '../../../src/domain/known.ts';
import { parseText } from '../../../src/domain/text.ts';
import { acquire as acquireFenced } from '../../../src/protocols/redis-fenced-scripts.ts';
import { release as releaseFenced } from '../../../src/protocols/redis-fenced-scripts.ts';
import { openTarget, rawRedis } from '../redis/redis-seeder.ts';
import { keepTrying, type NaiveRelease, type ReleaseArena } from './arena.ts';

/** A client of one server, or of a Cluster: it finds the server of each lock itself. */
type RawClient = Redis | Cluster;

/** How one layout is taken, lost and read, given the lock's name. */
export interface RedisLayout {
  /** Goes into every name, so that races on one server never meet. */
  readonly id: string;
  /** The lock's key. */
  key(name: string): string;
  /** Lua: whether KEYS[1] is held by ARGV[1]. */
  readonly isOwners: string;
  tryTake(raw: RawClient, name: string, owner: string): Promise<boolean>;
  release(raw: RawClient, name: string, owner: string): Promise<unknown>;
  readOwner(raw: RawClient, name: string): Promise<string | null>;
}

const leaseMs = 120_000;

const compareAndDelete = (isOwners: string, afterwards = ''): string =>
  `if not (${isOwners}) then return 0 end redis.call('DEL', KEYS[1]) ${afterwards} return 1`;

const stringIsOwners = `redis.call('GET', KEYS[1]) == ARGV[1]`;

export const plainLayout: RedisLayout = {
  id: 'plain',
  key: (name) => name,
  isOwners: stringIsOwners,
  tryTake: async (raw, name, owner) => (await raw.set(name, owner, 'PX', leaseMs, 'NX')) === 'OK',
  release: (raw, name, owner) => raw.eval(compareAndDelete(stringIsOwners), 1, name, owner),
  readOwner: (raw, name) => raw.get(name),
};

const allKeys = (name: string): readonly [string, string, string] => {
  const { lock, fence, history } = fencedKeys(name);
  return [lock, fence, history];
};

export const fencedLayout: RedisLayout = {
  id: 'fenced',
  key: (name) => fencedKeys(name).lock,
  isOwners: `redis.call('HGET', KEYS[1], '${fencedFields.owner}') == ARGV[1]`,
  async tryTake(raw, name, owner) {
    const reply = await raw.eval(acquireFenced, 3, ...allKeys(name), owner, leaseMs);
    return Array.isArray(reply) && reply[0] === 'ok';
  },
  async release(raw, name, owner) {
    const [seen, fence] = await raw.hmget(
      fencedKeys(name).lock,
      fencedFields.owner,
      fencedFields.fence,
    );
    // The script compares both again; a reader that came too late has nothing to release.
    if (seen !== owner || fence === undefined || fence === null) return;
    await raw.eval(releaseFenced, 3, ...allKeys(name), owner, fence);
  },
  readOwner: (raw, name) => raw.hget(fencedKeys(name).lock, fencedFields.owner),
};

const hashIsOwners = `redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1`;
const takeHash = `if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HINCRBY', KEYS[1], ARGV[1], 1) redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 1`;
/** Redisson's field: `<client>:<thread>`. */
const field = (owner: string): string => `${owner}:1`;

export const redissonLayout: RedisLayout = {
  id: 'redisson',
  key: (name) => name,
  // The arena knows owners by their word alone.
  isOwners: `redis.call('HEXISTS', KEYS[1], ARGV[1] .. ':1') == 1`,
  tryTake: async (raw, name, owner) =>
    (await raw.eval(takeHash, 1, name, field(owner), leaseMs)) === 1,
  release: (raw, name, owner) =>
    raw.eval(
      compareAndDelete(
        hashIsOwners,
        `redis.call('PUBLISH', 'redisson_lock__channel:{' .. KEYS[1] .. '}', '0')`,
      ),
      1,
      name,
      field(owner),
    ),
  readOwner: async (raw, name) => (await raw.hkeys(name))[0]?.replace(/:1$/, '') ?? null,
};

/**
 * Opens the arena of one layout on the Redis at `url`. Every actor has a client of its own, by
 * default of that one server.
 */
export async function openRedisArena(
  url: string,
  layout: RedisLayout,
  openClient: () => RawClient = () => rawRedis(url),
): Promise<ReleaseArena> {
  const backend = await openTarget(url);
  const owners = openClient();
  const takers = openClient();
  const judge = openClient();
  const operator = openClient();
  const expire = `if ${layout.isOwners} then return redis.call('PEXPIRE', KEYS[1], 1) end return 0`;
  return {
    reusesName: () => true,
    backend,
    ref: (round) => ({ name: parseText(`race-lock:${layout.id}:${round}`) }),
    async take({ name }, owner) {
      if (!(await layout.tryTake(owners, name, owner))) throw new Error(`${name} is taken`);
    },
    async lose({ name }, owner, { ends }) {
      if (ends === 'release') await layout.release(owners, name, owner);
      else await owners.eval(expire, 1, layout.key(name), owner);
    },
    takeNext: ({ name }, owner) => keepTrying(name, () => layout.tryTake(takers, name, owner)),
    async readRecord({ name }) {
      // The owner is all that is in it.
      const owner = await layout.readOwner(judge, name);
      return owner === null ? undefined : { owner, intact: true };
    },
    naive: naiveReleases(operator, layout),
    async close() {
      await backend.close();
      for (const raw of [owners, takers, judge, operator]) raw.disconnect();
    },
  };
}

function naiveReleases(raw: RawClient, layout: RedisLayout): readonly NaiveRelease[] {
  return [
    {
      title: 'DEL by name',
      async release({ ref }) {
        await raw.del(layout.key(ref.name));
      },
    },
    {
      title: 'a read of the owner, then DEL',
      async release(seen) {
        const { name } = seen.ref;
        const owner = await layout.readOwner(raw, name);
        const wanted = valueOf(seen.holders)?.[0]?.owner;
        if (owner === null || wanted?.startsWith(owner) !== true) return;
        await raw.del(layout.key(name));
      },
    },
  ];
}
