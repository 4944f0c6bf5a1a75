/** Situations from the field, set up by raw commands, seen through the adapter. */
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Backend } from '../../../src/backends/backend.ts';
import { valueOf } from '../../../src/domain/known.ts';
import type { LockDetail, LockSnapshot } from '../../../src/domain/lock.ts';
import { parseText } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';
import { collect, everyLock, forever } from '../backend/subject.ts';
import { openTarget, rawRedis } from './redis-seeder.ts';

const primary = useLab({ system: 'redis', options: { 'repl-diskless-sync-delay': '0' } });
const how = { timeoutMs: 5_000 };
let raw: Redis;
let backend: Backend;

beforeAll(async () => {
  raw = rawRedis(primary.target);
  backend = await openTarget(primary.target);
});
beforeEach(async () => {
  await raw.flushall();
});
afterAll(async () => {
  await backend.close();
  await raw.quit();
});

async function look(name: string, convention?: string): Promise<LockDetail> {
  const ref = { name: parseText(name), ...(convention === undefined ? {} : { convention }) };
  const seen = await backend.inspect(ref, forever);
  if (seen === undefined) throw new Error(`${name} is not there`);
  return seen;
}

describe('a lock that never expires, and a constant owner', () => {
  test('no expiry and a lease are told apart, and the shared owner is said to be a weak guard', async () => {
    await raw.set('lock:import', 'worker');
    await raw.set('lock:export', 'worker', 'PX', 900_000);
    const rows = await collect(backend.list(everyLock, forever).locks);
    const byName = new Map(rows.map((row) => [String(row.ref.name), row]));
    expect(byName.get('lock:import')).toMatchObject({ state: 'no-ttl', lease: { kind: 'never' } });
    expect(byName.get('lock:export')?.state).toBe('held');
    const lease = byName.get('lock:export')?.lease;
    expect(lease?.kind === 'ttl' && lease.ttlMs).toBeGreaterThan(890_000);
    for (const row of rows) {
      expect(row.notes.map((note) => note.code)).toEqual(['weak-owner', 'shared-owner']);
      expect(row.notes.every((note) => note.severity === 'warn')).toBe(true);
    }
  });

  test('a key that is gone is not shown as one without expiry', async () => {
    await raw.set('lock:import', 'worker', 'PX', 1);
    await until('the key expires', async () => (await raw.exists('lock:import')) === 0);
    expect(await backend.inspect({ name: parseText('lock:import') }, forever)).toBeUndefined();
  });

  test('a lock without a TTL cannot be watched for renewals, and it is said why', async () => {
    await raw.set('lock:import', 'worker');
    const sample = await backend.sample(await look('lock:import'), 'auto', forever);
    expect(sample).toMatchObject({ outcome: 'not-applicable', windowMs: 0 });
    expect(sample.note).toContain('without a TTL');
  });
});

describe('a Redisson lock held twice by one holder, and a waiter', () => {
  const owner = '7d1b-uuid:31';
  const channel = 'redisson_lock__channel:{invoice:close}';
  beforeEach(async () => {
    await raw.hset('invoice:close', owner, '2');
    await raw.pexpire('invoice:close', 120_000);
  });

  test('the holder has two holds, and the waiter is a number without a name', async () => {
    const waiter = rawRedis(primary.target);
    await waiter.subscribe(channel);
    const lock = await look('invoice:close');
    expect(lock.recognition).toMatchObject({ convention: 'redisson', title: 'Redisson lock' });
    expect(valueOf(lock.holders)).toMatchObject([{ owner, holds: 2 }]);
    expect(lock.waiters).toMatchObject({ kind: 'count', count: 1 });
    const [row] = await collect(backend.list(everyLock, forever).locks);
    expect(row?.waiters).toMatchObject({ kind: 'count', count: 1 });
    await waiter.quit();
  });

  test('a release takes the whole record and sends the waiter what the library would have sent', async () => {
    const waiter = rawRedis(primary.target);
    const heard = new Promise<string>((resolve) => {
      waiter.on('message', (_, message: string) => {
        resolve(message);
      });
    });
    await waiter.subscribe(channel);
    const seen = await look('invoice:close');
    expect(backend.preview(seen, {}).wakes).toEqual([`PUBLISH ${channel} 0, and by SPUBLISH`]);
    const result = await backend.release(seen, how, forever);
    expect(result).toMatchObject({ outcome: 'released', woken: { kind: 'known', value: 1 } });
    expect(await heard).toBe('0');
    expect(await raw.exists('invoice:close')).toBe(0);
    await waiter.quit();
  });

  test('an owner that took it once more in the meantime loses nothing', async () => {
    const seen = await look('invoice:close');
    await raw.hincrby('invoice:close', owner, 1);
    const result = await backend.release(seen, how, forever);
    expect(result).toMatchObject({
      outcome: 'changed-hands',
      now: `${owner}=2 → ${owner}=3`,
    });
    expect(await raw.hget('invoice:close', owner)).toBe('3');
  });

  test('a reentrant acquire while it is watched counts as a sign of life', async () => {
    const watching = backend.sample(await look('invoice:close'), 5_000, forever);
    await raw.hincrby('invoice:close', owner, 1);
    await raw.pexpire('invoice:close', 120_000);
    expect((await watching).outcome).toBe('renewed');
  });
});

describe('two readers of a Redisson lock, one of them long dead', () => {
  const [alive, dead] = ['r1-uuid:5', 'r2-uuid:9'] as const;
  beforeEach(async () => {
    await raw.hset('catalog', { mode: 'read', [alive]: '1', [dead]: '1' });
    await raw.pexpire('catalog', 600_000);
    await raw.set(`{catalog}:${alive}:rwlock_timeout:1`, '1', 'PX', 600_000);
    await raw.set(`{catalog}:${dead}:rwlock_timeout:1`, '1', 'PX', 300);
  });

  const timeLeft = (lock: LockSnapshot): readonly (number | undefined)[] =>
    (valueOf(lock.holders) ?? []).map(({ lease }) =>
      lease?.kind === 'ttl' ? lease.ttlMs : undefined,
    );
  const untilDead = (): Promise<unknown> =>
    until('the reader’s time runs out', async () => {
      return (await raw.exists(`{catalog}:${dead}:rwlock_timeout:1`)) === 0;
    });

  test('each has its own time, the mode is no holder, and the helpers are no locks', async () => {
    const lock = await look('catalog');
    expect(lock).toMatchObject({ mode: 'shared', state: 'held' });
    expect(valueOf(lock.holders)?.map((one) => one.owner)).toEqual([alive, dead]);
    expect(timeLeft(lock)[0]).toBeGreaterThan(590_000);
    expect(timeLeft(lock)[1]).toBeLessThanOrEqual(300);
    await untilDead();
    const [row, ...others] = await collect(backend.list(everyLock, forever).locks);
    expect(others).toEqual([]);
    expect(row?.lease.kind === 'ttl' && row.lease.ttlMs).toBeGreaterThan(590_000);
    expect(row && timeLeft(row)[1]).toBe(0);
    expect(row?.notes).toMatchObject([{ code: 'reader-expired' }]);
  });

  test('while both live, a release wants to know which of them is meant', async () => {
    const lock = await look('catalog');
    expect(lock.identity).toBeUndefined();
    expect(backend.preview(lock, {}).possible).toMatchObject({
      can: false,
      remedy: `name it: --holder ${alive} or ${dead}`,
    });
  });

  test('a release names the dead one and removes it, and the other stays', async () => {
    await untilDead();
    const lock = await look('catalog');
    expect(lock.ref.holder).toBe(dead);
    expect(backend.preview(lock, {}).deletes).toMatchObject([{ record: `${dead} in catalog` }]);
    expect(await backend.release(lock, how, forever)).toMatchObject({ outcome: 'released' });
    expect(await raw.hgetall('catalog')).toEqual({ mode: 'read', [alive]: '1' });
    expect(await raw.exists(`{catalog}:${alive}:rwlock_timeout:1`)).toBe(1);
    expect(await raw.pttl('catalog')).toBeGreaterThan(590_000);
    expect((await look('catalog')).identity?.expect).not.toBe(lock.identity?.expect);
  });

  test('when the named one is the longer, the record lasts no longer than the other', async () => {
    const ref = { name: parseText('catalog'), holder: parseText(alive) };
    const lock = await backend.inspect(ref, forever);
    if (lock === undefined) throw new Error('catalog is not there');
    expect(await backend.release(lock, how, forever)).toMatchObject({ outcome: 'released' });
    expect(await raw.pttl('catalog')).toBeLessThanOrEqual(300);
    expect(await raw.exists(`{catalog}:${alive}:rwlock_timeout:1`)).toBe(0);
  });

  test('a reader that took it once more in the meantime loses nothing', async () => {
    await untilDead();
    const lock = await look('catalog');
    await raw.hincrby('catalog', dead, 1);
    expect(await backend.release(lock, how, forever)).toMatchObject({ outcome: 'changed-hands' });
    expect(await raw.hlen('catalog')).toBe(3);
  });

  test('the last one takes the whole record, and writers and readers are told', async () => {
    await raw.hdel('catalog', alive);
    const waiter = rawRedis(primary.target);
    const heard = new Promise<string>((resolve) => {
      waiter.on('message', (_, message: string) => {
        resolve(message);
      });
    });
    await waiter.subscribe('redisson_rwlock:{catalog}');
    const result = await backend.release(await look('catalog'), how, forever);
    expect(result).toMatchObject({ outcome: 'released', woken: { kind: 'known', value: 1 } });
    expect(await heard).toBe('1');
    expect(await raw.exists('catalog')).toBe(0);
    await waiter.quit();
  });
});

describe('a name that is taken by something else', () => {
  beforeEach(async () => {
    await raw.set('sku:12', '{"price":3}', 'PX', 600_000);
    await raw.rpush('queue:mail', 'a', 'b');
    await raw.set('lock:sku:12', '9f3c', 'PX', 600_000);
  });

  test('asked for with a hash layout, it is told what it is and that the library fails on it', async () => {
    await expect(look('sku:12', 'redisson')).rejects.toMatchObject({
      code: 'wrong-type',
      exitCode: 2,
      message: expect.stringMatching(/"sku:12" holds a string.*WRONGTYPE/) as unknown,
    });
  });

  test('it is no lock, and it is not released', async () => {
    const seen = await look('sku:12');
    expect(seen).toMatchObject({ state: 'unknown', recognition: { convention: 'none' } });
    expect(backend.preview(seen, {}).possible.can).toBe(false);
    expect((await backend.release(seen, how, forever)).outcome).toBe('refused');
    expect(await raw.exists('sku:12')).toBe(1);
    expect(await look('queue:mail')).toMatchObject({ state: 'unknown' });
  });

  test('it does not stop the listing of the others', async () => {
    const listing = backend.list(everyLock, forever);
    const rows = await collect(listing.locks);
    expect(rows.map((row) => row.ref.name)).toEqual(['lock:sku:12']);
    expect(listing.tally).toMatchObject({ read: 3, others: 2, hidden: 0 });
  });
});

describe('pointed at a replica', () => {
  const replica = useLab({ system: 'redis' });
  let replicaRaw: Redis;
  let view: Backend;

  beforeAll(async () => {
    replicaRaw = rawRedis(replica.target);
    view = await openTarget(replica.target);
  });
  beforeEach(async () => {
    await follow();
    await raw.set('lock:a', 'w1', 'PX', 600_000);
    await until('replicated', async () => (await replicaRaw.exists('lock:a')) === 1);
  });
  afterAll(async () => {
    await view.close();
    await replicaRaw.quit();
  });

  async function follow(): Promise<void> {
    const port = primary.lab.servers[0]?.port ?? 0;
    await replicaRaw.call('REPLICAOF', '127.0.0.1', port);
    await until('the replica follows', async () =>
      (await replicaRaw.info('replication')).includes('link_status:up'),
    );
  }

  async function onReplica(): Promise<LockDetail> {
    const seen = await view.inspect({ name: parseText('lock:a') }, forever);
    if (seen === undefined) throw new Error('not replicated');
    return seen;
  }

  test('the lock is shown with whose replica this is and how far behind', async () => {
    const { server, state } = await onReplica();
    expect(state).toBe('held');
    expect(server.role).toEqual({ kind: 'known', value: 'replica' });
    expect(server.replicaOf).toMatchObject({
      primary: `127.0.0.1:${primary.lab.servers[0]?.port ?? 0}`,
      link: 'up',
    });
    expect(valueOf(server.replicaOf?.lastHeardS ?? { kind: 'unknown', reason: '' })).toBeTypeOf(
      'number',
    );
    expect((await view.probe(forever)).writable).toMatchObject({ can: false });
  });

  test('a release there is refused before anything that writes is sent', async () => {
    const seen = await onReplica();
    await replicaRaw.call('CONFIG', 'RESETSTAT');
    expect(view.preview(seen, {}).possible).toMatchObject({ can: false });
    expect(await view.release(seen, how, forever)).toMatchObject({ outcome: 'refused' });
    // EVAL_RO is how it looks; EVAL and DEL are how it would write.
    expect(await replicaRaw.info('commandstats')).not.toMatch(/cmdstat_(?:eval|del|unlink|incr):/);
  });

  test('a snapshot of a replica is not acted on after its promotion', async () => {
    const seen = await onReplica();
    await replicaRaw.call('REPLICAOF', 'NO', 'ONE');
    expect(await view.release(seen, how, forever)).toMatchObject({ outcome: 'refused' });
    expect(await replicaRaw.exists('lock:a')).toBe(1);
  });

  test('a primary that was demoted after the snapshot is not written to', async () => {
    await replicaRaw.call('REPLICAOF', 'NO', 'ONE');
    const seen = await onReplica();
    expect(valueOf(seen.server.role)).toBe('primary');
    await follow();
    expect(await view.release(seen, how, forever)).toMatchObject({
      outcome: 'refused',
      reason: expect.stringContaining('replica') as unknown,
    });
    expect(await raw.exists('lock:a')).toBe(1);
  });

  test('observations across a change of role are discarded', async () => {
    const seen = await onReplica();
    const watching = view.sample(seen, 5_000, forever, () => {
      void replicaRaw.call('REPLICAOF', 'NO', 'ONE');
    });
    expect(await watching).toMatchObject({ outcome: 'discarded', renewals: { kind: 'unknown' } });
  });

  test('with the link down, it is said since when', async () => {
    await replicaRaw.call('REPLICAOF', '127.0.0.1', 1);
    const { server } = await onReplica();
    expect(server.replicaOf?.link).toBe('down');
    expect(server.replicaOf?.lagBytes.kind).toBe('unknown');
    const probe = await view.probe(forever);
    expect(valueOf(probe.healthy)).toMatchObject({ can: false });
  });
});
