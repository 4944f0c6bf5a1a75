/** Situations from the field, set up as etcdctl would, seen through the adapter. */
import type { Etcd3 } from 'etcd3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Backend } from '../../../src/backends/backend.ts';
import { valueOf } from '../../../src/domain/known.ts';
import type { LockDetail } from '../../../src/domain/lock.ts';
import { parseText, stringToText } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { collect, everyLock, forever } from '../backend/subject.ts';
import {
  addUser,
  bytes,
  enableUsers,
  enter,
  openTarget,
  rawEtcd,
  valueAt,
  type EtcdGrant,
} from './etcd-seeder.ts';

const how = { timeoutMs: 5_000 };

async function look(backend: Backend, name: string): Promise<LockDetail> {
  const seen = await backend.inspect({ name: parseText(name) }, forever);
  if (seen === undefined) throw new Error(`${name} is not there`);
  return seen;
}

describe('a queue of three whose second member dies', () => {
  const plain = useLab({ system: 'etcd' });
  const name = '/locks/build';
  let raw: Etcd3;
  let backend: Backend;
  let a: EtcdGrant;
  let b: EtcdGrant;
  let c: EtcdGrant;

  beforeAll(async () => {
    raw = rawEtcd(plain.target);
    backend = await openTarget(plain.target);
  });
  beforeEach(async () => {
    await raw.delete().all();
    // The first lease has the greatest id: the names are in another order than the queue.
    a = await enter(raw, parseText(name), 'a', 300, '7587862190000000300');
    b = await enter(raw, parseText(name), 'b', 300, '7587862190000000200');
    c = await enter(raw, parseText(name), 'c', 300, '7587862190000000100');
    await raw.leaseClient.leaseRevoke({ ID: b.lease });
  });
  afterEach(async () => {
    for (const { lease } of [a, c]) {
      await raw.leaseClient.leaseRevoke({ ID: lease }).catch(() => undefined);
    }
  });
  afterAll(async () => {
    await backend.close();
    raw.close();
  });

  test('the first to come holds, the third waits with its own lease, and the second is gone', async () => {
    const lock = await look(backend, name);
    expect(valueOf(lock.holders)).toMatchObject([{ owner: 'a', record: a.key, holds: 1 }]);
    expect(lock.lease).toMatchObject({ kind: 'ttl', grantedMs: { value: 300_000 } });
    expect(lock.lease.kind === 'ttl' && lock.lease.ttlMs).toBeGreaterThan(290_000);
    expect(lock.waiters).toMatchObject({
      kind: 'exact',
      list: [
        {
          position: 1,
          owner: 'c',
          record: c.key,
          lease: { kind: 'ttl', grantedMs: { value: 300_000 } },
        },
      ],
    });
    const waiting = lock.waiters.kind === 'exact' ? lock.waiters.list[0]?.lease : undefined;
    expect(waiting?.kind === 'ttl' && waiting.ttlMs).toBeGreaterThan(290_000);
  });

  test('a release deletes exactly the key of the first, and the third has a greater fence', async () => {
    const lock = await look(backend, name);
    expect(backend.preview(lock, {})).toMatchObject({
      deletes: [{ record: a.key }],
      next: { kind: 'known', value: { owner: 'c', record: c.key } },
    });
    expect((await backend.release(lock, how, forever)).outcome).toBe('released');
    expect(await valueAt(raw, a.key)).toBeUndefined();
    const next = await look(backend, name);
    expect(valueOf(next.holders)).toMatchObject([{ owner: 'c' }]);
    expect(fenceOf(next)).toBeGreaterThan(fenceOf(lock));
  });

  test('an owner that lets go between plan and confirmation costs the next one nothing', async () => {
    const lock = await look(backend, name);
    await raw.kv.deleteRange({ key: bytes(a.key) });
    expect((await backend.release(lock, how, forever)).outcome).toBe('already-gone');
    expect(await valueAt(raw, c.key)).toBe('c');
  });

  test('an owner that came again under the same lease and name is another grant', async () => {
    const lock = await look(backend, name);
    await raw.kv.deleteRange({ key: bytes(a.key) });
    await raw.kv.put({ key: bytes(a.key), value: Buffer.from('a'), lease: a.lease });
    const result = await backend.release(lock, how, forever);
    expect(result).toMatchObject({
      outcome: 'changed-hands',
      now: expect.stringMatching(/created \d+.* → a, created \d+/) as unknown,
    });
    expect(await valueAt(raw, a.key)).toBe('a');
  });
});

describe('a cluster with users', () => {
  const secured = useLab({ system: 'etcd' });
  const as = (user: string): string => secured.target.replace('etcd://', `etcd://${user}@`);
  let raw: Etcd3;
  let op: Backend;

  beforeAll(async () => {
    const plain = rawEtcd(secured.target);
    await addUser(
      plain,
      { name: 'op', password: 'oppw' },
      { permType: 'Readwrite', key: Buffer.from('/locks/'), range_end: Buffer.from('/locks0') },
    );
    await plain.auth.userAdd({ name: 'nobody', password: 'nopw' });
    await enableUsers(plain, 'rootpw');
    plain.close();
    raw = rawEtcd(as('root:rootpw'));
    await enter(raw, parseText('/locks/build'), 'a', 300);
    await enter(raw, parseText('/other/build'), 'b', 300);
    op = await openTarget(as('op:oppw'));
  });
  afterAll(async () => {
    await op.close();
    raw.close();
  });

  /** What a user is told who lists a pattern. */
  async function refusal(user: string, pattern?: string): Promise<Record<string, unknown>> {
    const backend = await openTarget(as(user));
    const query = { ...everyLock, pattern: pattern === undefined ? undefined : parseText(pattern) };
    try {
      await collect(backend.list(query, forever).locks);
      throw new Error('it was not refused');
    } catch (error) {
      const { code, message, hint, exitCode } = error as Record<string, unknown>;
      return { code, message, hint, exitCode };
    } finally {
      await backend.close();
    }
  }

  test('an account that may read a prefix lists that prefix, with the leases', async () => {
    const query = { ...everyLock, pattern: parseText('/locks/*') };
    const rows = await collect(op.list(query, forever).locks);
    expect(rows).toMatchObject([
      { ref: { name: '/locks/build' }, state: 'held', lease: { kind: 'ttl' } },
    ]);
  });

  test('listing everything is refused as a range that is too wide, and the readable one is named', async () => {
    const told = await refusal('op:oppw');
    expect(told).toMatchObject({ code: 'range-refused', exitCode: 4 });
    expect(told.message).toMatch(/may not read the whole range \(every key\)/);
    expect(told.hint).toContain('fencepost ls "/locks/*"');
  });

  test('a prefix next door is refused in the same way, and so is a lock in it', async () => {
    expect(await refusal('op:oppw', '/other/*')).toMatchObject({ code: 'range-refused' });
    await expect(look(op, '/other/build')).rejects.toMatchObject({ code: 'range-refused' });
  });

  test('an account without any role is told to ask for a prefix', async () => {
    const told = await refusal('nobody:nopw');
    expect(told).toMatchObject({ code: 'range-refused' });
    expect(told.hint).toContain('give a prefix that they may read');
  });

  test('a wrong password, no password, no user and no permission are four sentences', async () => {
    const told = await Promise.all([
      refusal('op:WrongPassword'),
      refusal('op'),
      refusal(''),
      refusal('op:oppw'),
    ]);
    expect(told.map(({ code }) => code)).toEqual([
      'wrong-password',
      'password-needed',
      'password-needed',
      'range-refused',
    ]);
    expect(new Set(told.map(({ message }) => message)).size).toBe(4);
    expect(told.every(({ exitCode }) => exitCode === 4)).toBe(true);
    expect(JSON.stringify(told)).not.toMatch(/WrongPassword|oppw|rootpw/);
  });

  test('the account releases a lock in its own range', async () => {
    const grant = await enter(raw, parseText('/locks/nightly'), 'a', 300);
    const seen = await look(op, '/locks/nightly');
    expect((await op.release(seen, how, forever)).outcome).toBe('released');
    expect(await valueAt(raw, grant.key)).toBeUndefined();
  });

  test('a target is displayed with its user and without its password', () => {
    expect(op.display).toBe(stringToText(as('op')));
  });
});

function fenceOf(lock: LockDetail): bigint {
  if (lock.fence.kind !== 'token') throw new Error('no fence');
  return lock.fence.token;
}
