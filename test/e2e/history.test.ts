import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parseTarget } from '../../src/domain/target.ts';
import { parseText } from '../../src/domain/text.ts';
import { redisFenced } from '../../src/protocols/redis-fenced.ts';
import { fencepost, type Ran } from '../helpers/fencepost.ts';
import { redisDo } from '../helpers/redis.ts';
import { useLab } from '../helpers/servers.ts';

const redis = useLab({ system: 'redis' });

beforeAll(async () => {
  await redisDo(redis, ['SET', 'lock:plain', '9f31c0a7d2e84b5fa1c6', 'PX', '600000']);
  const client = await redisFenced.connect({
    target: parseTarget(redis.target),
    requestTimeoutMs: 5000,
    clientName: 'test',
    mutation: undefined,
  });
  for (const owner of ['owner-1', 'owner-2', 'owner-3']) {
    const request = { lock: 'orders:42', owner: parseText(owner), leaseMs: 60_000, waitMs: 0 };
    const reply = await client.acquire(request);
    if (reply.outcome !== 'ok') throw new Error(`not acquired: ${reply.code}`);
    if (owner !== 'owner-3') await client.release('orders:42', reply.grant);
  }
  await client.close();
});

function history(name: string, ...args: readonly string[]): Promise<Ran> {
  return fencepost(['history', name, '--target', redis.target, ...args]);
}

describe('a lock with a history on the server', () => {
  test('names its holders oldest first, with growing fences and their source', async () => {
    const { stdout, stderr, code } = await history('orders:42');
    expect(code).toBe(0);
    const [heading, ...rows] = stdout.trimEnd().split('\n');
    expect(heading).toMatch(/^FENCE +OWNER +GRANTED +ENDED +RECORD +SOURCE$/);
    expect(rows.map((row) => row.split(/ {2,}/).slice(0, 2))).toEqual([
      ['1', 'owner-1'],
      ['2', 'owner-2'],
      ['3', 'owner-3'],
    ]);
    expect(rows[2]).toContain('holding');
    expect(stderr).toMatch(/^3 grants · complete /);
  });

  test('--limit shows the newest, and says of how many', async () => {
    const { stdout, stderr } = await history('orders:42', '--limit', '1', '--no-headers');
    expect(stdout).toMatch(/^3 +owner-3 /);
    expect(stderr).toMatch(/^the newest 1 of 3 grants · /);
  });

  test('JSON has fences as decimal strings, in one document or one line each', async () => {
    const record = z.object({
      fence: z.object({ kind: z.literal('token'), token: z.string().regex(/^\d+$/) }),
      ended: z.object({ how: z.string() }),
      source: z.string(),
    });
    const document = z.object({ schemaVersion: z.literal(1), records: z.array(record) });
    const { stdout } = await history('orders:42', '-o', 'json');
    expect(document.parse(JSON.parse(stdout)).records).toHaveLength(3);
    const lines = (await history('orders:42', '-o', 'jsonl')).stdout.trimEnd().split('\n');
    expect(lines.map((line) => record.parse(JSON.parse(line)).fence.token)).toEqual([
      '1',
      '2',
      '3',
    ]);
  });

  test('show brings its fence and latest holders', async () => {
    const args = ['show', 'orders:42', '--target', redis.target, '--observe', 'off'];
    const { stdout } = await fencepost(args);
    expect(stdout).toMatch(/fence +3 \(counter\)/);
    expect(stdout).toMatch(/history +complete .*\n +1 +owner-1 +.*\n +2 +owner-2 /);
  });
});

test('a layout without a history says so, and why', async () => {
  const { stderr, code } = await history('lock:plain');
  expect(code).toBe(0);
  expect(stderr).toMatch(/completeness unknown: Redis keeps no history of this layout/);
});
