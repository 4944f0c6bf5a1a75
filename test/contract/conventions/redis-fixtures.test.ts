/**
 * What real libraries write, seeded command by command on a real server and read through the
 * adapter: every expectation of the fixture, in full and in a listing.
 */
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Backend } from '../../../src/backends/backend.ts';
import { valueOf } from '../../../src/domain/known.ts';
import type { LockDetail, LockSnapshot } from '../../../src/domain/lock.ts';
import { parseText } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { collect, everyLock, forever } from '../backend/subject.ts';
import { openTarget, rawRedis } from '../redis/redis-seeder.ts';
import { readFixtures, type Fixture } from './fixture.ts';

const fixtures = readFixtures('redis', z.array(z.string()).min(1));
type RedisFixture = Fixture<string[]>;

const lab = useLab({ system: 'redis' });
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

async function seed(fixture: RedisFixture): Promise<void> {
  for (const [command = '', ...args] of fixture.setup) await raw.call(command, ...args);
}

function owners(lock: LockSnapshot): readonly string[] {
  return (valueOf(lock.holders) ?? []).map((holder) => holder.owner);
}

function check(lock: LockSnapshot, { expect: wanted }: RedisFixture): void {
  expect(lock.ref.name).toBe(wanted.name);
  expect(lock.mode).toBe(wanted.mode);
  expect(new Set(owners(lock))).toEqual(
    new Set(wanted.owner === null ? [] : [wanted.owner].flat()),
  );
  if (wanted.holds !== null && wanted.holds > 0) {
    expect(valueOf(lock.holders)?.every((one) => one.holds === wanted.holds)).toBe(true);
  }
  if (wanted.holds === 0) expect(lock.state).toBe('free');
  checkLease(lock, wanted);
  expect(lock.fence).toMatchObject(
    wanted.fence === null ? { kind: 'none' } : { kind: 'token', token: BigInt(wanted.fence) },
  );
  const { waiters } = lock;
  const queued = waiters.kind === 'exact' ? waiters.list.map((one) => String(one.owner)) : [];
  expect(queued).toEqual(wanted.waiters);
  if (waiters.kind === 'count') expect(waiters.count).toBe(0);
}

/** No TTL in a fixture: none, or a time that only the members carry. */
function checkLease({ lease }: LockSnapshot, wanted: RedisFixture['expect']): void {
  if (wanted.ttl_ms === null) return;
  expect(lease).toMatchObject({ kind: 'ttl' });
  const leftMs = lease.kind === 'ttl' ? lease.ttlMs : NaN;
  expect(leftMs).toBeLessThanOrEqual(wanted.ttl_ms);
  expect(leftMs).toBeGreaterThan(wanted.ttl_ms - 5_000);
}

describe.each(fixtures)('%s', (_, fixture) => {
  const { convention, candidates, told, also_listed: alsoListed } = fixture.recognised;
  const { name } = fixture.expect;

  async function look(): Promise<LockDetail | undefined> {
    return backend.inspect({ name: parseText(name), ...(told ? { convention } : {}) }, forever);
  }

  test('is read as its library means it, and every candidate is named', async () => {
    await seed(fixture);
    const lock = await look();
    if (lock === undefined) throw new Error(`${name} is not there`);
    check(lock, fixture);
    expect(lock.recognition).toMatchObject({ convention, candidates, forced: told });
  });

  test('is one row of a listing, and its helpers are none', async () => {
    await seed(fixture);
    const rows = await collect(backend.list({ ...everyLock, all: true }, forever).locks);
    const listed = rows.filter(
      ({ ref, recognition }) =>
        String(ref.name) === name && (told || recognition.convention === convention),
    );
    expect(listed).toHaveLength(fixture.expect.holds === 0 ? 0 : 1);
    if (told) return;
    for (const row of listed) check(row, fixture);
    const others = rows.filter((row) => !listed.includes(row)).map((row) => String(row.ref.name));
    expect(others).toEqual(alsoListed);
  });
});
