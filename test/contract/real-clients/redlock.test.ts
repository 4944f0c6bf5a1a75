/** npm redlock's lock, seen and released by force while another process waits for it in the library. */
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { redisPort } from '../../helpers/redis.ts';
import { useLab } from '../../helpers/servers.ts';
import { rawRedis } from '../redis/redis-seeder.ts';
import { nodeClient, useClients } from './client-program.ts';
import { handOver } from './hand-over.ts';
import { useOperator } from './operator.ts';
import { untilPolls } from './polling.ts';

const lab = useLab({ system: 'redis' });
const operator = useOperator(lab);
const start = useClients();
const name = 'locks:account:7';
let raw: Redis;

beforeAll(() => {
  raw = rawRedis(lab.target);
});
afterAll(() => {
  raw.disconnect();
});

test('a lock of redlock is read, released, and taken by the one that polls for it', async () => {
  const command = nodeClient('redlock-lock.mjs', [String(redisPort(lab)), name]);
  const owner = await start(command).says('holds ');
  const waiter = start(command);
  await untilPolls(raw, 'exists');

  const lock = await operator.look(name);
  expect(lock).toMatchObject({
    state: 'held',
    mode: 'exclusive',
    // Any 16 random bytes in hex look like this: only the name says that it is a lock.
    recognition: { convention: 'plain', confidence: 'medium', candidates: ['node-redlock'] },
    holders: { kind: 'known', value: [{ owner, holds: 1, place: { kind: 'unknown' } }] },
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
