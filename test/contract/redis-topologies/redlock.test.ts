/** Independent servers that share locks by majority: what is held, partial and split, and its release. */
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Backend } from '../../../src/backends/backend.ts';
import type { LockDetail } from '../../../src/domain/lock.ts';
import { stringToText } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { collect, everyLock, forever } from '../backend/subject.ts';
import { openTarget, rawRedis } from '../redis/redis-seeder.ts';

const lab = useLab({ system: 'redlock' });
const token = '7a02be10c4d14f6b9f31c0aa55e2417d';
const other = 'b9f31c0aa55e2417d7a02be10c4d14f6';
const how = { timeoutMs: 5_000 };

let raw: readonly Redis[] = [];
let backend: Backend;

beforeAll(async () => {
  raw = lab.lab.servers.map(({ port }) => rawRedis(`redis://127.0.0.1:${port}`));
  for (const one of raw) one.on('error', () => undefined);
  backend = await openTarget(lab.target);
});

afterAll(async () => {
  for (const one of raw) one.disconnect();
  await backend.close();
});

/** Takes `name` on the servers of these numbers. */
async function take(name: string, value: string, servers: readonly number[], ttlMs = 60_000) {
  for (const index of servers) await raw[index]?.set(name, value, 'PX', ttlMs, 'NX');
}

async function look(name: string): Promise<LockDetail> {
  const seen = await backend.inspect({ name: stringToText(name) }, forever);
  if (seen === undefined) throw new Error(`${name} is not there`);
  return seen;
}

describe('a lock on five servers', () => {
  test('is held by the owner that a majority has, for as long as the shortest TTL', async () => {
    await take('held:lock', token, [0, 1, 2], 60_000);
    await take('held:lock', token, [3], 20_000);
    const seen = await look('held:lock');
    expect(seen).toMatchObject({
      state: 'held',
      holders: { value: [{ owner: token }] },
      server: { via: '5 of 5 servers read', doubts: [] },
    });
    expect(seen.lease.kind === 'ttl' && seen.lease.ttlMs).toBeLessThanOrEqual(20_000);
    expect(seen.notes).toContainEqual({
      code: 'majority',
      severity: 'info',
      text: `${token} has it on 4 of 5 servers`,
    });
  });

  test('is partial when nobody has a majority, and split when several have a part', async () => {
    await take('partial:lock', token, [0, 1]);
    await take('split:lock', token, [0, 1]);
    await take('split:lock', other, [2, 3]);
    expect(await look('partial:lock')).toMatchObject({ state: 'partial' });
    const split = await look('split:lock');
    expect(split.state).toBe('split');
    expect(split.notes.filter(({ code }) => code === 'other-owner')).toHaveLength(2);
  });

  test('is listed once, whichever of the servers have it', async () => {
    await take('listed:lock', token, [1, 2, 4]);
    const listed = await collect(backend.list(everyLock, forever).locks);
    const names = listed.map(({ ref }) => ref.name).sort();
    expect(names).toEqual(['held:lock', 'listed:lock', 'partial:lock', 'split:lock']);
  });

  test('is gone when no server has it', async () => {
    expect(await backend.inspect({ name: stringToText('no:lock') }, forever)).toBeUndefined();
  });
});

describe('its release', () => {
  test('deletes the grant on every server that has it, and no other owner’s', async () => {
    await take('freed:lock', token, [0, 1, 2]);
    await take('freed:lock', other, [3]);
    const seen = await look('freed:lock');
    const result = await backend.release(seen, how, forever);
    expect(result).toMatchObject({ outcome: 'released' });
    expect(await raw[3]?.get('freed:lock')).toBe(other);
    for (const index of [0, 1, 2]) expect(await raw[index]?.get('freed:lock')).toBeNull();
  });

  test('leaves a lock that changed hands on a majority as it is', async () => {
    await take('moved:lock', token, [0, 1, 2]);
    const seen = await look('moved:lock');
    for (const index of [0, 1, 2]) await raw[index]?.set('moved:lock', other, 'PX', 60_000);
    expect(await backend.release(seen, how, forever)).toMatchObject({ outcome: 'changed-hands' });
    for (const index of [0, 1, 2]) expect(await raw[index]?.get('moved:lock')).toBe(other);
  });

  test('cannot hold: nothing is sent', async () => {
    await take('kept:lock', token, [0, 1, 2]);
    const seen = await look('kept:lock');
    const hold = { owner: stringToText('operator'), ttlMs: 60_000 };
    expect(await backend.release(seen, { ...how, hold }, forever)).toMatchObject({
      outcome: 'refused',
    });
    expect(await raw[0]?.get('kept:lock')).toBe(token);
  });
});

// The last: servers go down one after the other.
describe('with servers down', () => {
  test('two of five: the lock is shown with what could not be read, and released', async () => {
    await take('late:lock', token, [0, 1, 2, 3, 4]);
    await lab.lab.kill('redis-4');
    await lab.lab.kill('redis-5');
    const seen = await look('late:lock');
    expect(seen).toMatchObject({ state: 'held', server: { via: '3 of 5 servers read' } });
    expect(seen.notes.filter(({ code }) => code === 'unread-server')).toHaveLength(2);
    expect(await backend.release(seen, how, forever)).toMatchObject({ outcome: 'released' });
  });

  test('a majority: what is deleted proves nothing, and what is not seen is not called gone', async () => {
    await take('last:lock', token, [0, 1, 2]);
    const seen = await look('last:lock');
    await lab.lab.kill('redis-3');
    expect(await backend.release(seen, how, forever)).toMatchObject({
      outcome: 'unknown',
      reason: expect.stringContaining('2 of 5 servers are known to lack it') as string,
    });
    await expect(
      backend.inspect({ name: stringToText('last:lock') }, forever),
    ).rejects.toMatchObject({ exitCode: 4 });
  });
});
