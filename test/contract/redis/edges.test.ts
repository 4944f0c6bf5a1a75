/** Records that a listing must survive, locks with a fence, and replies that never came. */
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Backend } from '../../../src/backends/backend.ts';
import type { LockDetail } from '../../../src/domain/lock.ts';
import { parseText } from '../../../src/domain/text.ts';
import { relay } from '../../helpers/tcp.ts';
import { useLab } from '../../helpers/servers.ts';
import { collect, everyLock, forever } from '../backend/subject.ts';
import { openTarget, rawRedis } from './redis-seeder.ts';

const lab = useLab({ system: 'redis' });
const how = { timeoutMs: 5_000 };
let raw: Redis;
let backend: Backend;

beforeAll(async () => {
  raw = rawRedis(lab.target);
  backend = await openTarget(lab.target);
});
beforeEach(async () => {
  await raw.flushall();
});
afterAll(async () => {
  await backend.close();
  await raw.quit();
});

async function look(name: string, by = backend): Promise<LockDetail> {
  const seen = await by.inspect({ name: parseText(name) }, forever);
  if (seen === undefined) throw new Error(`${name} is not there`);
  return seen;
}

describe('records of every kind', () => {
  test('contents too big for a lock stay on the server, by scripts and by pipelines', async () => {
    await raw.call('ACL', 'SETUSER', 'reader', 'reset', 'on', '>pw', '~*', '&*', '+@read');
    await raw.set('lock:huge', Buffer.alloc(8_000_000, 0x61));
    await raw.hset(
      'lock:wide',
      Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`f${n}`, 'x'])),
    );
    await raw.hset('lock:deep', 'field', Buffer.alloc(2_000_000, 0x61));
    await raw.set('lock:fine', 'owner', 'PX', 60_000);
    const url = lab.target.replace('redis://', 'redis://reader:pw@');
    const reader = await openTarget(url);
    for (const one of [backend, reader]) {
      const rows = await collect(one.list(everyLock, forever).locks);
      expect(rows.map((row) => String(row.ref.name)).sort()).toEqual(['lock:fine', 'lock:huge']);
      const huge = await look('lock:huge', one);
      expect(huge.holders).toMatchObject({ kind: 'unknown' });
      expect(huge.identity).toBeUndefined();
      expect(one.preview(huge, {}).possible.can).toBe(false);
      expect(await look('lock:wide', one)).toMatchObject({ state: 'unknown' });
      expect(await look('lock:deep', one)).toMatchObject({ state: 'unknown' });
    }
    await reader.close();
  });

  test('every type is read without an error, and all of them are shown when asked for', async () => {
    await raw.zadd('z', 1, 'a');
    await raw.sadd('s', 'a');
    await raw.rpush('l', 'a');
    await raw.xadd('x', '*', 'a', 'b');
    await raw.hset('h', 'a', 'b');
    await raw.set('number', '5');
    await raw.set('empty', '');
    const listing = backend.list({ ...everyLock, all: true }, forever);
    const rows = await collect(listing.locks);
    expect(rows).toHaveLength(7);
    expect(new Set(rows.map((row) => row.state))).toEqual(new Set(['unknown']));
    expect(rows.every((row) => row.identity === undefined)).toBe(true);
  });

  test('keys that come and go while a listing runs stop nothing', async () => {
    for (let n = 0; n < 3_000; n += 1) void raw.set(`lock:${n}`, `owner-${n}`, 'PX', 600_000);
    await raw.ping();
    let seen = 0;
    for await (const row of backend.list(everyLock, forever).locks) {
      seen += 1;
      if (seen % 10 === 0) {
        await raw.del(row.ref.name, `lock:${(seen * 7) % 3_000}`);
        await raw.rpush(`lock:${(seen * 11) % 3_000}:list`, 'x');
      }
    }
    expect(seen).toBeGreaterThan(2_000);
  });

  test('a rate limit slows the walk down', async () => {
    for (let n = 0; n < 300; n += 1) await raw.set(`lock:${n}`, 'owner', 'PX', 600_000);
    const started = performance.now();
    await collect(backend.list({ ...everyLock, ratePerSecond: 400 }, forever).locks);
    expect(performance.now() - started).toBeGreaterThan(600);
  });

  test('helpers are not listed, and a queue without its lock is', async () => {
    const now = Date.now();
    await raw.rpush('redisson_lock_queue:{import:eu}', 'dead-uuid:1', 'live-uuid:2');
    await raw.zadd('redisson_lock_timeout:{import:eu}', now - 1_000, 'dead-uuid:1');
    await raw.zadd('redisson_lock_timeout:{import:eu}', now + 60_000, 'live-uuid:2');
    await raw.hset('order:9', '6e1c2d34-0a1b-4c5d-8e9f-a0b1c2d3e4f5:51', '1');
    await raw.set('redisson_lock_token:{order:9}', '17');
    await raw.set('redisson_unlock_latch:{order:9}:abc', '1');
    const rows = await collect(backend.list({ ...everyLock, all: true }, forever).locks);
    const byName = new Map(rows.map((row) => [String(row.ref.name), row]));
    expect([...byName.keys()].sort()).toEqual(['import:eu', 'order:9']);
    expect(byName.get('import:eu')).toMatchObject({
      state: 'orphan-waiters',
      recognition: { title: 'Redisson fair lock' },
      waiters: { kind: 'exact', list: [{ owner: 'dead-uuid:1' }, { owner: 'live-uuid:2' }] },
      notes: [{ code: 'dead-waiter' }],
    });
    expect(byName.get('order:9')).toMatchObject({
      state: 'no-ttl',
      recognition: { title: 'Redisson fenced lock' },
      fence: { kind: 'token', token: 17n },
    });
    expect(await look('redisson_lock_token:{order:9}')).toMatchObject({
      ref: { name: 'order:9' },
      notes: [{ code: 'asked-for-helper' }],
    });
  });

  test('a fair lock and its queue are one row, in whichever order they are met', async () => {
    for (let n = 0; n < 50; n += 1) {
      await raw.rpush(`redisson_lock_queue:{order:${n}}`, 'live-uuid:2');
      await raw.hset(`order:${n}`, '6e1c2d34-0a1b-4c5d-8e9f-a0b1c2d3e4f5:51', '1');
    }
    const rows = await collect(backend.list(everyLock, forever).locks);
    expect(rows).toHaveLength(50);
    expect(new Set(rows.map((row) => row.recognition.title))).toEqual(
      new Set(['Redisson fair lock']),
    );
  });

  test('a pattern is about the names that are shown, also where the key is another', async () => {
    await raw.rpush('redisson_lock_queue:{orders:eu}', 'w-uuid:2');
    await raw.hset('fencepost:{orders:us}:lock', { owner: 'a', fence: '1', grantedAt: '1' });
    await raw.set('orders:lock', 'owner');
    await raw.set('other:lock', 'owner');
    const names = async (pattern: string): Promise<string[]> => {
      const query = { ...everyLock, pattern: parseText(pattern) };
      const rows = await collect(backend.list(query, forever).locks);
      return rows.map((row) => String(row.ref.name)).sort();
    };
    expect(await names('orders*')).toEqual(['orders:eu', 'orders:lock', 'orders:us']);
    expect(await names('*')).toEqual(['orders:eu', 'orders:lock', 'orders:us', 'other:lock']);
    expect(await names('*o*')).toEqual(['orders:eu', 'orders:lock', 'orders:us', 'other:lock']);
    expect(await names('Orders*')).toEqual([]);
  });

  test('in a fair queue the first waiter whose time has not passed is next, and is the one woken', async () => {
    const key = 'order:10';
    const now = Date.now();
    await raw.hset(key, '6e1c2d34-0a1b-4c5d-8e9f-a0b1c2d3e4f5:51', '1');
    await raw.pexpire(key, 60_000);
    await raw.rpush(`redisson_lock_queue:{${key}}`, 'live-uuid:2', 'live-uuid:3');
    await raw.zadd(`redisson_lock_timeout:{${key}}`, now + 60_000, 'live-uuid:2');
    await raw.zadd(`redisson_lock_timeout:{${key}}`, now + 65_000, 'live-uuid:3');
    const preview = backend.preview(await look(key), {});
    expect(preview.next).toMatchObject({ kind: 'known', value: { owner: 'live-uuid:2' } });
    expect(preview.wakes).toEqual([
      `PUBLISH redisson_lock__channel:{${key}}:live-uuid:2 0, and by SPUBLISH`,
    ]);
  });
});

describe('a fenced lock', () => {
  const keys = {
    lock: 'fencepost:{orders}:lock',
    fence: 'fencepost:{orders}:fence',
    history: 'fencepost:{orders}:history',
  };
  const grant = async (owner: string, fence: string, leaseMs = 60_000): Promise<void> => {
    await raw.set(keys.fence, fence);
    await raw.del(keys.lock);
    await raw.hset(keys.lock, {
      owner,
      fence,
      grantedAt: String(Date.now()),
      leaseMs: String(leaseMs),
    });
    await raw.pexpire(keys.lock, leaseMs);
    await raw.xadd(
      keys.history,
      '*',
      'type',
      'grant',
      'owner',
      owner,
      'fence',
      fence,
      'at',
      String(Date.now()),
    );
  };

  test('it is known by its name, with fence, grant time and granted lease', async () => {
    await grant('owner-a', '41');
    for (const name of ['orders', keys.lock, keys.fence]) {
      expect(await look(name)).toMatchObject({
        ref: { name: 'orders', convention: 'fencepost-fenced' },
        state: 'held',
        fence: { kind: 'token', token: 41n, source: 'counter' },
        lease: { kind: 'ttl', grantedMs: { kind: 'known', value: 60_000 } },
        heldForMs: { kind: 'known' },
      });
    }
    const rows = await collect(backend.list(everyLock, forever).locks);
    expect(rows.map((row) => String(row.ref.name))).toEqual(['orders']);
  });

  test('a release raises the fence above every token seen, and enters the history', async () => {
    await grant('owner-a', '9007199254740993');
    const seen = await look('orders');
    const preview = backend.preview(seen, {});
    expect(preview.raisesFence).toEqual({
      from: 9007199254740993n,
      to: 9007199254740994n,
      record: keys.fence,
    });
    expect(await backend.release(seen, how, forever)).toMatchObject({
      outcome: 'released',
      fenceRaisedTo: 9007199254740994n,
    });
    expect(await raw.get(keys.fence)).toBe('9007199254740994');
    const history = backend.history({ name: parseText('orders') }, forever);
    const records = await collect(history.records);
    expect(records).toMatchObject([
      { owner: { value: 'owner-a' }, ended: { how: 'force-released' } },
    ]);
    expect(history.completeness()).toMatchObject({ kind: 'known' });
    expect(await look('orders')).toMatchObject({ state: 'free', identity: undefined });
  });

  test('a counter that fell behind the token already given is lifted above it', async () => {
    await grant('owner-a', '50');
    await raw.set(keys.fence, '3');
    const seen = await look('orders');
    expect(seen.notes.map((note) => note.code)).toEqual(['fence-went-back']);
    await backend.release(seen, how, forever);
    expect(await raw.get(keys.fence)).toBe('51');
  });

  test('a counter of the wrong type refuses the release and leaves the lock', async () => {
    await grant('owner-a', '5');
    await raw.del(keys.fence);
    await raw.rpush(keys.fence, 'x');
    const result = await backend.release(await look('orders'), how, forever);
    expect(result).toMatchObject({ outcome: 'refused', fenceRaisedTo: undefined });
    expect(await raw.exists(keys.lock)).toBe(1);
  });

  test('a renewal to another lease length is the same grant; the same owner’s next grant is not', async () => {
    await grant('owner-a', '5');
    const seen = await look('orders');
    await raw.hset(keys.lock, 'leaseMs', '90000');
    await raw.pexpire(keys.lock, 90_000);
    expect((await look('orders')).identity?.expect).toBe(seen.identity?.expect);
    await grant('owner-a', '6');
    expect((await backend.release(seen, how, forever)).outcome).toBe('changed-hands');
    expect(await raw.get(keys.fence)).toBe('6');
  });

  test('a hold gives the operator the raised token, and the history shows the change', async () => {
    await grant('owner-a', '5');
    const hold = { owner: parseText('operator'), ttlMs: 30_000 };
    const result = await backend.release(await look('orders'), { ...how, hold }, forever);
    expect(result).toMatchObject({ outcome: 'released', fenceRaisedTo: 6n });
    expect(await look('orders')).toMatchObject({
      state: 'held',
      fence: { token: 6n },
      lease: { grantedMs: { value: 30_000 } },
      holders: { value: [{ owner: 'operator' }] },
    });
    const records = await collect(backend.history({ name: parseText('orders') }, forever).records);
    expect(records.map((one) => one.ended.how)).toEqual(['force-released', 'holding']);
  });

  test('a history that lost its beginning says from when on it is complete', async () => {
    for (let fence = 1; fence <= 4; fence += 1) await grant('owner-a', String(fence));
    await raw.xtrim(keys.history, 'MAXLEN', '=', 2);
    const history = backend.history({ name: parseText('orders') }, forever);
    const records = await collect(history.records);
    expect(records.map((one) => one.ended.how)).toEqual(['lease-ended-or-deleted', 'holding']);
    expect(history.completeness()).toMatchObject({ kind: 'partial' });
  });
});

describe('a reply that never came', () => {
  const isRelease = (bytes: Buffer): boolean => bytes.includes("return {'gone'}");

  async function through(
    onRequest: Parameters<typeof relay>[1],
    work: (backend: Backend) => Promise<void>,
  ): Promise<void> {
    const between = await relay(lab.lab.servers[0]?.port ?? 0, onRequest);
    const relayed = await openTarget(`redis://127.0.0.1:${between.port}`);
    try {
      await work(relayed);
    } finally {
      await relayed.close();
      await between.stop();
    }
  }
  const losingTheReply: Parameters<typeof relay>[1] = (bytes, connection) => {
    if (isRelease(bytes)) connection.swallowReplies();
  };
  const goingSilent: Parameters<typeof relay>[1] = (bytes, connection) => {
    if (isRelease(bytes)) connection.swallowAllReplies();
  };

  test('a plain lock that is gone afterwards is not claimed as released, and nothing is sent twice', async () => {
    await raw.set('lock:a', 'owner-1', 'PX', 60_000);
    await through(losingTheReply, async (relayed) => {
      const seen = await look('lock:a', relayed);
      await raw.call('CONFIG', 'RESETSTAT');
      expect(await relayed.release(seen, { timeoutMs: 400 }, forever)).toMatchObject({
        outcome: 'unknown',
        reason: expect.stringContaining('gone') as unknown,
      });
      expect(await raw.info('commandstats')).toMatch(/cmdstat_eval:calls=1,/);
    });
  });

  test('a fenced lock’s own history shows that the release took place', async () => {
    const record = { owner: 'a', fence: '3', grantedAt: '1', leaseMs: '60000' };
    await raw.hset('fencepost:{x}:lock', record);
    await raw.set('fencepost:{x}:fence', '3');
    await through(losingTheReply, async (relayed) => {
      const seen = await look('x', relayed);
      const result = await relayed.release(seen, { timeoutMs: 400 }, forever);
      expect(result).toMatchObject({ outcome: 'released' });
    });
  });

  test('a server that stays silent leaves the outcome unknown', async () => {
    await raw.set('lock:a', 'owner-1', 'PX', 60_000);
    await through(goingSilent, async (relayed) => {
      const seen = await look('lock:a', relayed);
      expect(await relayed.release(seen, { timeoutMs: 400 }, forever)).toMatchObject({
        outcome: 'unknown',
        reason: expect.stringContaining('could not be read again') as unknown,
      });
    });
  });
});
