/** A team's own conventions on real servers: read, listed, folded, and released with their wake-up. */
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseConventions } from '../../../src/config/conventions-schema.ts';
import { toConventions } from '../../../src/config/own-conventions.ts';
import { openBackend } from '../../../src/backends/registry.ts';
import type { Backend } from '../../../src/backends/backend.ts';
import type { LockDetail } from '../../../src/domain/lock.ts';
import { parseTarget } from '../../../src/domain/target.ts';
import { parseText } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';
import { collect, everyLock, forever } from '../backend/subject.ts';
import { grantLease, rawEtcd } from '../etcd/etcd-seeder.ts';
import { RawZooKeeper } from '../zookeeper/zookeeper-seeder.ts';
import { rawRedis, testOptions } from '../redis/redis-seeder.ts';

const file = `
version: 1
conventions:
  - name: acme-job
    system: redis
    type: hash
    key: "acme:<name>:claim"
    owner: { field: holder, pattern: "<host>/<pid>/<owner>" }
    fence: "acme:<name>:fence"
    wake:
      - publish: "acme:<name>:done"
        message: "<key>"
      - push: "acme:<name>:wait"
        value: go
  - name: acme-redlock
    system: redis
    type: string
    key: "acme-lock:<name>"
  - name: acme-etcd
    system: etcd
    type: key
    key: "/acme/<name>/claim"
    owner: { json: holder.id }
    never-release: the ledger depends on it
  - name: acme-queue
    system: zookeeper
    type: queue
    key: "/acme/<name>"
    contender: "job-"
    owner: { pattern: "<host>|<owner>" }
  - name: acme-node
    system: zookeeper
    type: node
    key: "/acme-flags/<name>"
`;
const own = toConventions(parseConventions(file, 'conventions.yaml', () => []));

function open(url: string): Promise<Backend> {
  return openBackend(parseTarget(url), { ...testOptions, conventions: own });
}

async function look(backend: Backend, name: string, convention?: string): Promise<LockDetail> {
  const ref = { name: parseText(name), ...(convention === undefined ? {} : { convention }) };
  const lock = await backend.inspect(ref, forever);
  if (lock === undefined) throw new Error(`${name} is not there`);
  return lock;
}

describe('on Redis', () => {
  const lab = useLab({ system: 'redis' });
  const key = 'acme:orders:claim';
  let raw: Redis;
  let backend: Backend;

  beforeAll(async () => {
    raw = rawRedis(lab.target);
    backend = await open(lab.target);
  });
  beforeEach(async () => {
    await raw.flushall();
    await raw.hset(key, { holder: 'web-1/42/9f31c0aa55e2417d8b3c7e10d2f4a6b8', since: '2030' });
    await raw.pexpire(key, 60_000);
    await raw.set('acme:orders:fence', '41');
  });
  afterAll(async () => {
    await backend.close();
    await raw.quit();
  });

  test('its owner, place and fence are read, under its key and under the name in it', async () => {
    for (const lock of [await look(backend, key), await look(backend, 'orders', 'acme-job')]) {
      expect(lock).toMatchObject({
        ref: { name: key },
        state: 'held',
        recognition: { convention: 'acme-job', confidence: 'high', candidates: [] },
        holders: { value: [{ place: { value: { host: 'web-1', pid: 42 } } }] },
        fence: { token: 41n },
        helpers: ['acme:orders:fence'],
      });
    }
  });

  test('a listing has it in one row, without its helpers, and can be restricted to it', async () => {
    await raw.set('lock:other', '2b77e1d09c4f4a1e9a5d3c6b8f0e1d2c', 'PX', 60_000);
    const names = async (conventions?: readonly string[]): Promise<readonly string[]> => {
      const { locks } = backend.list({ ...everyLock, conventions }, forever);
      return (await collect(locks)).map(({ ref }) => String(ref.name)).sort();
    };
    expect(await names()).toEqual([key, 'lock:other']);
    expect(await names(['acme-job'])).toEqual([key]);
  });

  test('it is asked before the built-in ones, which are there when it claims nothing', async () => {
    const uuid = 'a3bb189e-8bf9-4c1d-9d5e-111122223333';
    await raw.set('acme-lock:x', uuid, 'PX', 60_000);
    await raw.set('redlock:x', uuid, 'PX', 60_000);
    expect((await look(backend, 'acme-lock:x')).recognition.convention).toBe('acme-redlock');
    expect((await look(backend, 'redlock:x')).recognition.convention).toBe('redlock-net');
    const forced = await look(backend, 'acme-lock:x', 'plain');
    expect(forced.recognition).toMatchObject({ convention: 'plain', forced: true });
  });

  test('a release raises the fence and wakes a subscriber and a client blocked on the list', async () => {
    const subscriber = raw.duplicate();
    const blocked = raw.duplicate();
    const heard: string[] = [];
    try {
      subscriber.on('message', (channel: string, message: string) => {
        heard.push(`${channel} ${message}`);
      });
      await subscriber.subscribe('acme:orders:done');
      const popped = blocked.blpop('acme:orders:wait', 20);
      await until('a client blocks', async () =>
        (await raw.info('clients')).includes('blocked_clients:1'),
      );
      const lock = await look(backend, key);
      expect(lock.waiters).toMatchObject({ kind: 'count', count: 1 });
      expect(backend.preview(lock, {})).toMatchObject({
        wakes: [`PUBLISH acme:orders:done ${key}`, 'LPUSH acme:orders:wait go'],
        raisesFence: { to: 42n },
      });
      const result = await backend.release(lock, { timeoutMs: 5_000 }, forever);
      expect(result).toMatchObject({ outcome: 'released', fenceRaisedTo: 42n });
      expect(await popped).toEqual(['acme:orders:wait', 'go']);
      await until('the message arrives', () => heard.length > 0);
      expect(heard).toEqual([`acme:orders:done ${key}`]);
      expect(await raw.exists(key)).toBe(0);
      expect(await raw.get('acme:orders:fence')).toBe('42');
    } finally {
      subscriber.disconnect();
      blocked.disconnect();
    }
  });

  test('a record that changed since it was seen is not released, whatever field changed', async () => {
    const lock = await look(backend, key);
    await raw.hset(key, 'since', '2031');
    const result = await backend.release(lock, { timeoutMs: 5_000 }, forever);
    expect(result.outcome).toBe('changed-hands');
    expect(await raw.exists(key)).toBe(1);
  });
});

describe('on etcd', () => {
  const lab = useLab({ system: 'etcd' });

  test('the owner is read from the document, and what must never be released is not', async () => {
    const raw = rawEtcd(lab.target);
    const backend = await open(lab.target);
    try {
      const lease = await grantLease(raw, 60);
      const value = Buffer.from('{"holder":{"id":"billing-7"}}');
      await raw.kv.put({ key: Buffer.from('/acme/a/claim'), value, lease });
      const lock = await look(backend, '/acme/a/claim');
      expect(lock).toMatchObject({
        recognition: { convention: 'acme-etcd', confidence: 'high' },
        holders: { value: [{ owner: 'billing-7' }] },
      });
      expect(backend.preview(lock, {}).possible).toMatchObject({
        can: false,
        reason: 'the ledger depends on it',
      });
      const rows = await collect(backend.list(everyLock, forever).locks);
      expect(rows.map(({ ref }) => String(ref.name))).toEqual(['/acme/a/claim']);
    } finally {
      await backend.close();
      raw.close();
    }
  });
});

describe('on ZooKeeper', () => {
  const lab = useLab({ system: 'zookeeper' });
  let raw: RawZooKeeper;
  let backend: Backend;

  beforeAll(async () => {
    raw = await RawZooKeeper.open(lab.target);
    backend = await open(lab.target);
    await raw.makePath('/acme/a');
    await raw.makePath('/acme-flags');
    await raw.create('/acme/a/job-0000000002', 'h2|second', 'ephemeral');
    await raw.create('/acme/a/job-0000000001', 'h1|first', 'ephemeral');
    await raw.create('/acme-flags/b', 'web-1', 'persistent');
  });
  afterAll(async () => {
    await backend.close();
    await raw.close();
  });

  test('a queue has its holder, its place and its waiter, and a node is a lock', async () => {
    expect(await look(backend, '/acme/a')).toMatchObject({
      recognition: { convention: 'acme-queue' },
      holders: { value: [{ owner: 'first' }] },
      waiters: { list: [{ owner: 'second' }] },
    });
    const rows = await collect(backend.list(everyLock, forever).locks);
    expect(rows.map(({ ref, state }) => [String(ref.name), state]).sort()).toEqual([
      ['/acme-flags/b', 'no-ttl'],
      ['/acme/a', 'held'],
    ]);
  });

  test('a release deletes the holder only', async () => {
    const result = await backend.release(
      await look(backend, '/acme/a'),
      { timeoutMs: 5_000 },
      forever,
    );
    expect(result.outcome).toBe('released');
    expect((await look(backend, '/acme/a')).holders).toMatchObject({
      value: [{ owner: 'second' }],
    });
  });
});
