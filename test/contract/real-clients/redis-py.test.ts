/** redis-py's Lock, seen and released by force while another process waits for it in the library. */
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { redisPort } from '../../helpers/redis.ts';
import { useLab } from '../../helpers/servers.ts';
import { rawRedis } from '../redis/redis-seeder.ts';
import { useClients } from './client-program.ts';
import { handOver } from './hand-over.ts';
import { useOperator } from './operator.ts';
import { untilPolls } from './polling.ts';
import { pythonClient } from './python.ts';

const lab = useLab({ system: 'redis' });
const operator = useOperator(lab);
const start = useClients();
const name = 'reports:nightly';
let raw: Redis;

beforeAll(() => {
  raw = rawRedis(lab.target);
});
afterAll(() => {
  raw.disconnect();
});

test('a lock of redis-py is read, released, and taken by the one that polls for it', async () => {
  const library = { module: 'redis', debian: 'python3-redis', pypi: 'redis' };
  const command = pythonClient(library, 'redis-py-lock.py', [String(redisPort(lab)), name]);
  const owner = await start(command).says('holds ');
  const waiter = start(command);
  await untilPolls(raw, 'set');

  const lock = await operator.look(name);
  expect(lock).toMatchObject({
    state: 'held',
    mode: 'exclusive',
    recognition: { convention: 'redis-py', confidence: 'medium', candidates: [] },
    holders: { kind: 'known', value: [{ owner, holds: 1 }] },
    // Its token is a time-based UUID, made when it was acquired.
    heldForMs: { kind: 'known' },
    waiters: { kind: 'unknown' },
    fence: { kind: 'none' },
  });
  const leftMs = lock.lease.kind === 'ttl' ? lock.lease.ttlMs : 0;
  expect(leftMs).toBeGreaterThan(30_000);
  expect(leftMs).toBeLessThanOrEqual(60_000);

  const { done, next } = await handOver(operator, lock, { waiter, record: name });
  expect(next).not.toBe(owner);
  expect(done).toMatchObject({
    outcome: 'taken-over-by',
    result: { woken: { kind: 'known', value: 0 } },
    verification: { outcome: 'taken-over', owner: next },
  });
});
