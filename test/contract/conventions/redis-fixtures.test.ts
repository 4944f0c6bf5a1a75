/**
 * What real libraries write, seeded command by command on a real server and read through the
 * adapter: every expectation of the fixture, in full and in a listing.
 */
import { readFileSync } from 'node:fs';
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

const fixtureSchema = z.object({
  library: z.string(),
  variant: z.string(),
  setup: z.array(z.array(z.string()).min(1)),
  expect: z.object({
    name: z.string(),
    owner: z.union([z.string(), z.array(z.string()), z.null()]),
    ttl_ms: z.number().nullable(),
    waiters: z.array(z.string()),
    fence: z.number().nullable(),
    holds: z.number().nullable(),
    mode: z.enum(['exclusive', 'shared', 'semaphore', 'latch']),
  }),
});
type Fixture = z.output<typeof fixtureSchema>;

/** Records that nothing but the application's word makes a lock: these are asked for by convention. */
const onlyWhenTold: Readonly<Record<string, string>> = {
  'plain/SET NX PX': 'plain',
  'plain/no-ttl': 'plain',
  'redisson/RSemaphore': 'redisson-semaphore',
};

/** Which convention each fixture is read in. */
const conventionOf: Readonly<Record<string, string>> = {
  plain: 'plain',
  redisson: 'redisson',
  'redisson/RReadWriteLock write': 'redisson-read-write',
  'redisson/RReadWriteLock write holder also reading': 'redisson-read-write',
  'redisson/RSemaphore': 'redisson-semaphore',
  'redisson/RPermitExpirableSemaphore': 'redisson-permits',
  'node-redlock': 'node-redlock',
  'redis-py': 'redis-py',
  'bsm/redislock': 'bsm-redislock',
  'spring-integration': 'uuid-string',
  madelson: 'distributed-lock-mutex',
  'madelson/semaphore': 'distributed-lock-semaphore',
  'redlock.net': 'redlock-net',
  laravel: 'laravel',
  bullmq: 'bullmq',
  'python-redis-lock': 'python-redis-lock',
  'redlock-rb': 'uuid-string',
  redbeat: 'redbeat',
  shedlock: 'shedlock-redis',
  pottery: 'redlock-net',
  aioredlock: 'uuid-string',
  rueidislock: 'rueidislock',
  'sidekiq-unique-jobs': 'sidekiq-unique-jobs',
  'resque-lock': 'resque-lock',
};

/** Where one shape fits several libraries, all of them are named. */
const candidatesOf: Readonly<Record<string, readonly string[]>> = {
  'spring-integration': ['spring-integration', 'redlock-rb', 'aioredlock', 'plain'],
  'redlock-rb': ['redlock-rb', 'aioredlock', 'plain'],
  aioredlock: ['redlock-rb', 'aioredlock', 'plain'],
  'redlock.net': ['pottery'],
  pottery: ['pottery'],
  'node-redlock': ['plain'],
};

/** With `--all`, what else of a fixture is shown. */
const alsoListed: Readonly<Record<string, readonly string[]>> = {
  // A bare number: nothing in it says whose count it is.
  'redisson/RPermitExpirableSemaphore': ['pool:2'],
  'node-redlock/v5 multi-resource': ['res:b'],
  'sidekiq-unique-jobs/v9 alpha locked hash': ['uniquejobs:digests'],
};

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

const fixtures = readFileSync(
  new URL('../../fixtures/lock-fixtures/redis.jsonl', import.meta.url),
  'utf8',
)
  .trimEnd()
  .split('\n')
  .map((line) => fixtureSchema.parse(JSON.parse(line)))
  .map((one) => [`${one.library}/${one.variant}`, one] as const);

async function seed(fixture: Fixture): Promise<void> {
  for (const [command = '', ...args] of fixture.setup) await raw.call(command, ...args);
}

function of<T>(table: Readonly<Record<string, T>>, id: string, fixture: Fixture): T | undefined {
  return table[id] ?? table[fixture.library];
}

function owners(lock: LockSnapshot): readonly string[] {
  return (valueOf(lock.holders) ?? []).map((holder) => holder.owner);
}

function check(lock: LockSnapshot, { expect: wanted }: Fixture): void {
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
function checkLease({ lease }: LockSnapshot, wanted: Fixture['expect']): void {
  if (wanted.ttl_ms === null) return;
  expect(lease).toMatchObject({ kind: 'ttl' });
  const leftMs = lease.kind === 'ttl' ? lease.ttlMs : NaN;
  expect(leftMs).toBeLessThanOrEqual(wanted.ttl_ms);
  expect(leftMs).toBeGreaterThan(wanted.ttl_ms - 5_000);
}

describe.each(fixtures)('%s', (id, fixture) => {
  const told = onlyWhenTold[id];
  const convention = of(conventionOf, id, fixture);
  const { name } = fixture.expect;

  async function look(): Promise<LockDetail | undefined> {
    return backend.inspect(
      { name: parseText(name), ...(told === undefined ? {} : { convention: told }) },
      forever,
    );
  }

  test('is read as its library means it, and every candidate is named', async () => {
    await seed(fixture);
    const lock = await look();
    if (lock === undefined) throw new Error(`${name} is not there`);
    check(lock, fixture);
    expect(lock.recognition).toMatchObject({ convention, forced: told !== undefined });
    expect(lock.recognition.candidates).toEqual(of(candidatesOf, id, fixture) ?? []);
  });

  test('is one row of a listing, and its helpers are none', async () => {
    await seed(fixture);
    const rows = await collect(backend.list({ ...everyLock, all: true }, forever).locks);
    const listed = rows.filter(
      ({ ref, recognition }) =>
        String(ref.name) === name && (told !== undefined || recognition.convention === convention),
    );
    expect(listed).toHaveLength(fixture.expect.holds === 0 ? 0 : 1);
    if (told !== undefined) return;
    for (const row of listed) check(row, fixture);
    const others = rows.filter((row) => !listed.includes(row)).map((row) => String(row.ref.name));
    expect(others).toEqual(alsoListed[id] ?? []);
  });
});
