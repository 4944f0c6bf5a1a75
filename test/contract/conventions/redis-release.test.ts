/**
 * What a forced release leaves behind and whom it wakes, layout by layout: clients that wait as the
 * library’s own waiters do, on a real server.
 */
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Backend } from '../../../src/backends/backend.ts';
import { valueOf } from '../../../src/domain/known.ts';
import type { LockDetail, LockRef } from '../../../src/domain/lock.ts';
import type { ReleaseResult } from '../../../src/domain/release.ts';
import { parseText } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';
import { forever } from '../backend/subject.ts';
import { openTarget, rawRedis } from '../redis/redis-seeder.ts';

const owner = '6e1c2d34-0a1b-4c5d-8e9f-a0b1c2d3e4f5:51';
const other = '0f9e8d7c-6b5a-4938-8271-605f4e3d2c1b:7';
const farAway = 4_102_444_800_000;

const lab = useLab({ system: 'redis' });
let raw: Redis;
let backend: Backend;
const waiters: Redis[] = [];

beforeAll(async () => {
  raw = rawRedis(lab.target);
  backend = await openTarget(lab.target);
});
beforeEach(async () => {
  await raw.flushall();
});
afterEach(() => {
  for (const one of waiters.splice(0)) one.disconnect();
});
afterAll(async () => {
  await backend.close();
  await raw.quit();
});

function client(): Redis {
  const one = rawRedis(lab.target);
  waiters.push(one);
  return one;
}

/** The next message of a channel (or of a pattern, or of the sharded kind). */
async function listen(
  channel: string,
  how: 'subscribe' | 'psubscribe' | 'ssubscribe' = 'subscribe',
): Promise<() => Promise<string>> {
  const one = client();
  const event = { subscribe: 'message', psubscribe: 'pmessage', ssubscribe: 'smessage' }[how];
  const heard = new Promise<string>((resolve) => {
    one.on(event, (...words: string[]) => {
      resolve(words.at(-1) ?? '');
    });
  });
  await one[how](channel);
  return () => heard;
}

async function look(name: string, more: Omit<LockRef, 'name'> = {}): Promise<LockDetail> {
  const seen = await backend.inspect({ name: parseText(name), ...more }, forever);
  if (seen === undefined) throw new Error(`${name} is not there`);
  return seen;
}

async function release(name: string, more?: Omit<LockRef, 'name'>): Promise<ReleaseResult> {
  return backend.release(await look(name, more), { timeoutMs: 5_000 }, forever);
}

function owners(lock: LockDetail): readonly string[] {
  return (valueOf(lock.holders) ?? []).map((one) => one.owner);
}

describe('Redisson', () => {
  test('those who listen on either kind of channel hear that it is free', async () => {
    await raw.hset('order:1', owner, '1');
    await raw.pexpire('order:1', 60_000);
    const channel = 'redisson_lock__channel:{order:1}';
    const plain = await listen(channel);
    const sharded = await listen(channel, 'ssubscribe');
    expect(await release('order:1')).toMatchObject({
      outcome: 'released',
      woken: { kind: 'known', value: 2 },
    });
    expect([await plain(), await sharded()]).toEqual(['0', '0']);
  });

  test('a fair queue loses the head that gave up, in the same step, and the next is told', async () => {
    const now = Date.now();
    await raw.hset('order:2', owner, '1');
    await raw.pexpire('order:2', 60_000);
    await raw.rpush('redisson_lock_queue:{order:2}', 'dead:1', 'live:2', 'late:3');
    await raw.zadd('redisson_lock_timeout:{order:2}', now - 5_000, 'dead:1');
    await raw.zadd('redisson_lock_timeout:{order:2}', now + 60_000, 'live:2');
    await raw.zadd('redisson_lock_timeout:{order:2}', now - 1, 'late:3');
    const heard = await listen('redisson_lock__channel:{order:2}:live:2');
    expect(await release('order:2')).toMatchObject({ outcome: 'released' });
    expect(await heard()).toBe('0');
    expect(await raw.lrange('redisson_lock_queue:{order:2}', 0, -1)).toEqual(['live:2', 'late:3']);
    expect(await raw.zrange('redisson_lock_timeout:{order:2}', '0', '-1')).toEqual([
      'late:3',
      'live:2',
    ]);
    const left = await look('order:2');
    expect(left.state).toBe('orphan-waiters');
    expect(left.notes[0]?.text).toContain('PUBLISH redisson_lock__channel:{order:2}:live:2 0');
  });

  test('a sleeper on the channel of a lock that nobody holds is an orphan, and is told how to wake', async () => {
    await listen('redisson_lock__channel:{order:3}');
    const left = await look('order:3');
    expect(left).toMatchObject({ state: 'orphan-waiters', waiters: { kind: 'count', count: 1 } });
    expect(left.notes[0]?.text).toContain('PUBLISH redisson_lock__channel:{order:3} 0');
  });

  test.each([
    ['redisson_rwlock:{order:4}', 'redisson-read-write', 'PUBLISH redisson_rwlock:{order:4} 1'],
    [
      'redisson_countdownlatch__channel__{order:4}',
      'redisson-latch',
      'PUBLISH redisson_countdownlatch__channel__{order:4} 0',
    ],
    ['redisson_sc:{order:4}', 'redisson-semaphore', 'INCRBY order:4 1 and PUBLISH'],
  ])(
    'a sleeper on %s whose key is gone is an orphan, and so',
    async (channel, convention, wake) => {
      await listen(channel);
      const left = await look('order:4');
      expect(left).toMatchObject({
        state: 'orphan-waiters',
        waiters: { kind: 'count', count: 1 },
        recognition: { convention },
      });
      expect(left.notes[0]?.text).toContain(wake);
      expect(backend.preview(left, {}).possible.can).toBe(false);
    },
  );

  test('one permit of a semaphore goes back to the count, and the new count is told', async () => {
    const permit = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
    await raw.set('pool', '2');
    await raw.zadd('{pool}:timeout', farAway, permit);
    await raw.zadd('{pool}:timeout', farAway, 'permit-member-01');
    await raw.zadd('{pool}:timeout', 1, 'long-gone-permit');
    const heard = await listen('redisson_sc:{pool}');
    const lock = await look('pool');
    expect([...owners(lock)].sort()).toEqual([
      '00112233445566778899aabbccddeeff',
      'permit-member-01',
    ]);
    expect(lock.identity).toBeUndefined();
    const holder = parseText('00112233445566778899aabbccddeeff');
    expect(await release('pool', { holder })).toMatchObject({ outcome: 'released' });
    expect(await heard()).toBe('3');
    expect(await raw.get('pool')).toBe('3');
    expect(await raw.zrange('{pool}:timeout', '0', '-1')).toEqual([
      'long-gone-permit',
      'permit-member-01',
    ]);
    expect(await release('pool')).toMatchObject({ outcome: 'released' });
    expect(await raw.get('pool')).toBe('4');
  });

  test('a latch opens only when told that it is one, and its waiters hear of it', async () => {
    await raw.set('latch', '3');
    const heard = await listen('redisson_countdownlatch__channel__{latch}');
    expect((await look('latch')).recognition.convention).toBe('none');
    expect(await release('latch', { convention: 'redisson-latch' })).toMatchObject({
      outcome: 'released',
    });
    expect(await heard()).toBe('0');
    expect(await raw.exists('latch')).toBe(0);
  });

  test('a semaphore of bare permits is never released', async () => {
    await raw.set('pool', '0');
    expect(await release('pool', { convention: 'redisson-semaphore' })).toMatchObject({
      outcome: 'refused',
    });
    expect(await raw.get('pool')).toBe('0');
  });

  test('of a faster multilock one owner’s values go, and the others’ stay', async () => {
    const entry = (hash: string, who: string) => ({
      [hash]: who,
      [`${hash}:${who}:expire_time`]: String(farAway),
      [`${hash}:${who}:lock_count`]: '2',
    });
    await raw.hset('group', {
      ...entry('aa', owner),
      ...entry('bb', owner),
      ...entry('cc', other),
    });
    const lock = await look('group');
    expect(lock.recognition).toMatchObject({ convention: 'redisson-faster-multilock' });
    expect(valueOf(lock.holders)).toMatchObject([
      { owner, holds: 2, record: 'aa' },
      { owner, holds: 2, record: 'bb' },
      { owner: other, holds: 2, record: 'cc' },
    ]);
    const heard = await listen('redisson_lock__channel:{group}');
    expect(await release('group', { holder: parseText(owner) })).toMatchObject({
      outcome: 'released',
    });
    expect(await heard()).toBe('0');
    expect(await raw.hgetall('group')).toEqual(entry('cc', other));
  });
});

describe('other libraries', () => {
  test('a waiter of python-redis-lock, asleep in BLPOP, gets its element', async () => {
    await raw.set('lock:import', 'AAECAwQFBgcICQoLDA0ODxAR', 'EX', 60);
    expect((await look('lock:import')).waiters).toMatchObject({ kind: 'count', count: 0 });
    const popped = client().blpop('lock-signal:import', 20);
    await until('it sleeps', async () => (await raw.info('clients')).includes('blocked_clients:1'));
    expect((await look('lock:import')).waiters).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('1 client is blocked') as unknown,
    });
    expect(await release('lock:import')).toMatchObject({ outcome: 'released' });
    expect(await popped).toEqual(['lock-signal:import', '1']);
    await raw.set('lock:again', 'AAECAwQFBgcICQoLDA0ODxAR', 'EX', 60);
    await release('lock:again');
    expect(await raw.lrange('lock-signal:again', 0, -1)).toEqual(['1']);
    expect(await raw.pttl('lock-signal:again')).toBeLessThanOrEqual(1_000);
  });

  test('Spring Integration’s waiters, who listen by a pattern, hear the key', async () => {
    await raw.set('registry:inbox', '6e1c2d34-0a1b-4c5d-8e9f-a0b1c2d3e4f5', 'PX', 60_000);
    const heard = await listen('registry-channel:*', 'psubscribe');
    const convention = 'spring-integration';
    expect((await look('registry:inbox', { convention })).notes).toMatchObject([
      { code: 'weak-owner' },
    ]);
    expect(await release('registry:inbox', { convention })).toMatchObject({ outcome: 'released' });
    expect(await heard()).toBe('registry:inbox');
  });

  test('where another library may have written it, the plan says whose waiters would sleep on', async () => {
    await raw.set('lock:import', 'a-name-of-their-own', 'EX', 60);
    const lock = await look('lock:import');
    expect(lock.recognition).toMatchObject({
      convention: 'plain',
      candidates: ['python-redis-lock'],
    });
    expect(backend.preview(lock, {}).warnings.join()).toContain(
      '--convention python-redis-lock wakes them',
    );
  });

  test('rueidislock loses every copy of its value, and none of another’s', async () => {
    for (const index of [0, 1]) await raw.set(`rueidislock:${index}:cron`, 'mine', 'PX', 60_000);
    await raw.set('rueidislock:2:cron', 'theirs', 'PX', 60_000);
    expect(await look('cron')).toMatchObject({ state: 'held', lease: { kind: 'ttl' } });
    expect(await release('cron')).toMatchObject({ outcome: 'released' });
    expect(await raw.keys('*')).toEqual(['rueidislock:2:cron']);
    expect(await look('cron')).toMatchObject({
      state: 'partial',
      notes: [{ code: 'no-majority' }],
    });
  });

  test('sidekiq’s digest leaves the list when its last job is released', async () => {
    const [first, second] = ['a1b2c3d4e5f60718293a4b5c', 'b1b2c3d4e5f60718293a4b5c'] as const;
    await raw.hset('uniquejobs:d1:LOCKED', { [first]: '{}', [second]: '{}' });
    await raw.zadd('uniquejobs:digests', 1, 'uniquejobs:d1');
    await raw.zadd('uniquejobs:digests', 2, 'uniquejobs:d2');
    expect(await look('uniquejobs:d1')).toMatchObject({ mode: 'semaphore', state: 'no-ttl' });
    await release('uniquejobs:d1', { holder: parseText(first) });
    expect(await raw.hkeys('uniquejobs:d1:LOCKED')).toEqual([second]);
    expect(await raw.zcard('uniquejobs:digests')).toBe(2);
    await release('uniquejobs:d1');
    expect(await raw.exists('uniquejobs:d1:LOCKED')).toBe(0);
    expect(await raw.zrange('uniquejobs:digests', '0', '-1')).toEqual(['uniquejobs:d2']);
  });

  test('an older sidekiq layout is recognised and left alone', async () => {
    await raw.hset('uniquejobs:d1:LOCKED', 'a1b2c3d4e5f60718293a4b5c', '1796181887.3');
    await raw.rpush('uniquejobs:d1:QUEUED', 'b1b2c3d4e5f60718293a4b5c');
    expect(await release('uniquejobs:d1')).toMatchObject({ outcome: 'refused' });
    expect(await raw.exists('uniquejobs:d1:LOCKED')).toBe(1);
  });
});

describe('DistributedLock', () => {
  const handle = (pid: number): string => `NODE-1_${pid}_0123456789abcdef0123456789abcdef`;

  test('of its readers one goes, and the writer that waits is no holder', async () => {
    await raw.sadd('doc.readers', handle(1), handle(2));
    await raw.pexpire('doc.readers', 60_000);
    await raw.set('doc.writer', `${handle(3)}_WRITERWAITING`, 'PX', 60_000);
    const lock = await look('doc');
    expect(owners(lock)).toEqual([handle(1), handle(2)]);
    expect(lock).toMatchObject({
      mode: 'shared',
      waiters: { kind: 'exact', list: [{ owner: handle(3), mode: 'write' }] },
    });
    expect(valueOf(lock.holders)?.[0]?.place).toMatchObject({ value: { host: 'NODE-1', pid: 1 } });
    const rows = [];
    for await (const row of backend.list(
      {
        pattern: undefined,
        lockPatterns: [],
        all: false,
        conventions: undefined,
        ratePerSecond: undefined,
      },
      forever,
    ).locks) {
      rows.push(row.ref.name);
    }
    expect(rows).toEqual(['doc']);
    expect(await release('doc', { holder: parseText(handle(1)) })).toMatchObject({
      outcome: 'released',
    });
    expect(await raw.smembers('doc.readers')).toEqual([handle(2)]);
    expect(await raw.exists('doc.writer')).toBe(1);
  });

  test('its writer is one string', async () => {
    await raw.set('doc.writer', handle(3), 'PX', 60_000);
    expect(await look('doc')).toMatchObject({ mode: 'exclusive', state: 'held' });
    expect(await release('doc')).toMatchObject({ outcome: 'released' });
    expect(await raw.exists('doc.writer')).toBe(0);
  });

  test('a ticket of its semaphore goes alone, and one that ran out is no holder', async () => {
    for (const pid of [1, 2]) await raw.zadd('slots', farAway, handle(pid));
    await raw.zadd('slots', 1_000, handle(3));
    await raw.pexpire('slots', 90_000);
    const lock = await look('slots');
    expect([...owners(lock)].sort()).toEqual([handle(1), handle(2)]);
    expect(lock.notes).toMatchObject([{ code: 'expired-members' }]);
    const named = await look('slots', { holder: parseText(handle(2)) });
    await raw.zrem('slots', handle(2));
    expect(await backend.release(named, { timeoutMs: 5_000 }, forever)).toMatchObject({
      outcome: 'already-gone',
    });
    expect(await release('slots')).toMatchObject({ outcome: 'released' });
    expect(await raw.zrange('slots', '0', '-1')).toEqual([handle(3)]);
  });

  test('a ticket that is renewed while it is watched is a sign of life', async () => {
    await raw.zadd('slots', Date.now() + 60_000, handle(1));
    await raw.pexpire('slots', 180_000);
    const sample = await backend.sample(await look('slots'), 'auto', forever, () => {
      void raw.zadd('slots', Date.now() + 90_000, handle(1));
    });
    expect(sample).toMatchObject({ outcome: 'renewed', neededMs: { kind: 'partial' } });
  });
});
