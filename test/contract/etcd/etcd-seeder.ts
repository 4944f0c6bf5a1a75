/** Takes, renews and steals etcd locks by a raw client, and other raw access for etcd tests. */
import { Etcd3 } from 'etcd3';
import { openBackend } from '../../../src/backends/registry.ts';
import type { Backend } from '../../../src/backends/backend.ts';
import { parseTarget } from '../../../src/domain/target.ts';
import {
  bytesToText,
  parseText,
  stringToText,
  textToBytes,
  type Text,
} from '../../../src/domain/text.ts';
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
export function rawEtcd(url: string): Etcd3 {
  const { endpoints, username, password } = parseTarget(url);
  return new Etcd3({
    hosts: endpoints.map(({ host, port }) => `${host}:${port}`),
    defaultCallOptions: () => ({ deadline: Date.now() + 10_000 }),
    ...(username === undefined ? {} : { auth: { username, password: password?.reveal() ?? '' } }),
  });
}

export function bytes(text: Text): Buffer {
  return Buffer.from(textToBytes(text));
}

export function hex(lease: string): string {
  return BigInt(lease).toString(16);
}

/** Grants a lease of whole seconds; the id as a decimal string. */
export async function grantLease(raw: Etcd3, seconds: number, id = '0'): Promise<string> {
  return (await raw.leaseClient.leaseGrant({ TTL: seconds, ID: id })).ID;
}

export interface EtcdGrant extends SeededGrant {
  readonly key: Text;
  readonly lease: string;
}

/** Enters the queue `name/<lease hex>`, as Go's election does. */
export async function enter(
  raw: Etcd3,
  name: Text,
  owner: string,
  seconds: number,
  id?: string,
): Promise<EtcdGrant> {
  const lease = await grantLease(raw, seconds, id);
  const key = parseText(`${name}/${hex(lease)}`);
  await raw.kv.put({ key: bytes(key), value: Buffer.from(owner), lease });
  return { ref: { name }, owner: stringToText(owner), key, lease };
}

/** The record of one contender, if it is still there. */
export async function valueAt(raw: Etcd3, key: Text): Promise<Text | undefined> {
  const [found] = (await raw.kv.range({ key: bytes(key) })).kvs;
  return found === undefined ? undefined : bytesToText(found.value);
}

/** Election keys: one contender, which is the holder. */
export function queueSeeder(url: string): Seeder {
  const raw = rawEtcd(url);
  const taken = new Map<SeededGrant, EtcdGrant>();
  const take = async (name: Text, owner: string, leaseMs: number): Promise<SeededGrant> => {
    const grant = await enter(raw, name, owner, Math.ceil(leaseMs / 1000));
    taken.set(grant, grant);
    return grant;
  };
  const of = (grant: SeededGrant): EtcdGrant => {
    const found = taken.get(grant);
    if (found === undefined) throw new Error('not a grant of this seeder');
    return found;
  };
  const end = async (grant: SeededGrant): Promise<void> => {
    await raw.kv.deleteRange({ key: bytes(of(grant).key) });
  };
  return {
    name: (word) => parseText(`/contract/${word}`),
    take,
    async renew(grant) {
      const stream = await raw.leaseClient.leaseKeepAlive();
      await new Promise<void>((resolve, reject) => {
        stream.on('data', () => {
          resolve();
        });
        stream.on('error', reject);
        stream.write({ ID: of(grant).lease });
      });
      stream.end();
    },
    async steal(grant, owner, leaseMs) {
      await end(grant);
      return take(grant.ref.name, owner, leaseMs);
    },
    end,
    isThere: async (grant) => (await valueAt(raw, of(grant).key)) === grant.owner,
    async other(name) {
      await raw.kv.put({ key: bytes(name), value: Buffer.from('{"price":3}') });
    },
    close() {
      raw.close();
      return Promise.resolve();
    },
  };
}

/** A role over a range of keys, and a user who has only it. */
export async function addUser(
  raw: Etcd3,
  user: { readonly name: string; readonly password: string },
  may: {
    readonly permType: 'Read' | 'Write' | 'Readwrite';
    readonly key: Buffer;
    readonly range_end: Buffer;
  },
): Promise<void> {
  await raw.auth.roleAdd({ name: user.name });
  await raw.auth.roleGrantPermission({ name: user.name, perm: may });
  await raw.auth.userAdd(user);
  await raw.auth.userGrantRole({ user: user.name, role: user.name });
}

/** Creates root and switches users on. From now on only signed-in clients are served. */
export async function enableUsers(raw: Etcd3, rootPassword: string): Promise<void> {
  await raw.auth.roleAdd({ name: 'root' });
  await raw.auth.userAdd({ name: 'root', password: rootPassword });
  await raw.auth.userGrantRole({ user: 'root', role: 'root' });
  await raw.auth.authEnable();
}
