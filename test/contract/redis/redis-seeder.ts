/** Takes, renews and steals plain Redis locks by a raw client, and other raw access for Redis tests. */
import { Redis, type Cluster } from 'ioredis';
import { openBackend } from '../../../src/backends/registry.ts';
import type { Backend } from '../../../src/backends/backend.ts';
import { parseTarget } from '../../../src/domain/target.ts';
import { parseText, stringToText, textToBytes, type Text } from '../../../src/domain/text.ts';
import type { Seeder, SeededGrant } from '../backend/subject.ts';

export const testOptions = {
  connectTimeoutMs: 1_500,
  requestTimeoutMs: 5_000,
  clientName: 'fencepost-test',
};

export function openTarget(url: string): Promise<Backend> {
  return openBackend(parseTarget(url), testOptions);
}

/** A raw client of a lab's target. */
export function rawRedis(url: string): Redis {
  const target = parseTarget(url);
  const [{ host, port }] = target.endpoints;
  const password = target.password?.reveal();
  return new Redis({ host, port, ...(password === undefined ? {} : { password }) });
}

export function bytes(text: Text): Buffer {
  return Buffer.from(textToBytes(text));
}

/** `SET name owner NX PX ttl`, renewed by PEXPIRE, stolen by SET, ended by compare-and-delete. */
export function plainSeeder(server: string | Cluster): Seeder {
  const raw = typeof server === 'string' ? rawRedis(server) : server;
  const endScript =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
  const leases = new Map<Text, number>();
  const granted = (name: Text, owner: string, leaseMs: number): SeededGrant => {
    leases.set(name, leaseMs);
    return { ref: { name }, owner: stringToText(owner) };
  };
  return {
    name: (word) => parseText(`contract:${word}`),
    async take(name, owner, leaseMs) {
      const reply = await raw.set(bytes(name), owner, 'PX', leaseMs, 'NX');
      if (reply !== 'OK') throw new Error(`${name} is taken`);
      return granted(name, owner, leaseMs);
    },
    async renew({ ref }) {
      await raw.pexpire(bytes(ref.name), leases.get(ref.name) ?? 0);
    },
    async steal({ ref }, owner, leaseMs) {
      await raw.set(bytes(ref.name), owner, 'PX', leaseMs);
      return granted(ref.name, owner, leaseMs);
    },
    async end({ ref, owner }) {
      await raw.eval(endScript, 1, bytes(ref.name), bytes(owner));
    },
    async isThere({ ref, owner }) {
      return (await raw.getBuffer(bytes(ref.name)))?.equals(bytes(owner)) ?? false;
    },
    async other(name) {
      await raw.set(bytes(name), '{"price":3}', 'PX', 60_000);
    },
    async close() {
      await raw.quit();
    },
  };
}
