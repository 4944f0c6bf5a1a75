/** Every check that a lab's Redis can be made to pass and to fail, and what a poor account is told. */
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checksOf } from '../../../src/audit/registry.ts';
import { auditTarget } from '../../../src/audit/run-audit.ts';
import type { AuditReport, Judgement } from '../../../src/domain/audit-report.ts';
import { UsageError } from '../../../src/domain/errors.ts';
import { useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';
import { forever } from '../backend/subject.ts';
import { openTarget, rawRedis } from './redis-seeder.ts';

const lab = useLab({ system: 'redis', members: 3 });
const redisChecks = checksOf('redis');
let raw: Redis;

beforeAll(async () => {
  raw = rawRedis(lab.target);
  await until('both replicas follow', async () =>
    (await raw.info('replication')).includes('connected_slaves:2'),
  );
  const rules = ['reset', 'on', '>pw', '~*', '&*', '+@read'];
  await raw.call('ACL', 'SETUSER', 'reader', ...rules);
  const more = ['+info', '+role', '+config|get', '+slowlog|get'];
  const acl = ['+acl|whoami', '+acl|getuser', '+acl|dryrun'];
  await raw.call('ACL', 'SETUSER', 'auditor', ...rules, ...more, ...acl);
});
afterAll(async () => {
  await raw.quit();
});

async function audit(url: string, leaseMs: number): Promise<AuditReport> {
  const backend = await openTarget(url);
  try {
    const plan = { checks: redisChecks, failOn: 'low', allowUnknown: new Set<string>() } as const;
    return await auditTarget(backend, { ...plan, limits: { leaseMs } }, forever);
  } finally {
    await backend.close();
  }
}

async function judgement(id: string, url: string, leaseMs = 10_000): Promise<Judgement> {
  const { results } = await audit(url, leaseMs);
  const found = results.find((result) => result.id === id);
  if (found === undefined) throw new Error(`${id} did not run`);
  return found.judgement;
}

const as = (account: string): string => lab.target.replace('redis://', `redis://${account}:pw@`);
const config = (...pairs: readonly string[]) => raw.call('CONFIG', 'SET', ...pairs);

/** A pause that every server makes is longer than a tenth of this. */
const tinyLeaseMs = 0.000_01;

interface Arrangement {
  readonly arrange?: () => Promise<unknown>;
  readonly url?: () => string;
  readonly leaseMs?: number;
}

const cases: readonly (readonly [id: string, bad: Arrangement, good: Arrangement])[] = [
  [
    'R01',
    { arrange: () => raw.set('a:lock', 'token-3f9c2a77') },
    { arrange: () => raw.set('a:lock', 'token-3f9c2a77', 'PX', 600_000) },
  ],
  [
    'R02',
    { arrange: () => raw.set('a:lock', 'token-3f9c2a77', 'PX', 7_200_000) },
    { arrange: () => raw.set('a:lock', 'token-3f9c2a77', 'PX', 600_000) },
  ],
  [
    'R04',
    { arrange: () => config('maxmemory', '1gb', 'maxmemory-policy', 'volatile-lru') },
    { arrange: () => config('maxmemory-policy', 'noeviction') },
  ],
  [
    'R05',
    { arrange: () => config('maxmemory', '1000', 'maxmemory-policy', 'noeviction') },
    { arrange: () => config('maxmemory', '0') },
  ],
  [
    'R06',
    {
      arrange: async () => {
        await raw.set('filler', 'x'.repeat(1000));
        await config('maxmemory-policy', 'allkeys-lru', 'maxmemory', '1000');
        await until(
          'a key is evicted',
          async () => !(await raw.info('stats')).includes('evicted_keys:0\r'),
        );
        await config('maxmemory', '0', 'maxmemory-policy', 'noeviction');
      },
    },
    { arrange: () => raw.call('CONFIG', 'RESETSTAT') },
  ],
  ['R09', { url: () => `redis://127.0.0.1:${lab.lab.servers[1]?.port ?? 0}` }, {}],
  [
    'R10',
    { arrange: () => config('min-replicas-to-write', '0') },
    { arrange: () => config('min-replicas-to-write', '1', 'min-replicas-max-lag', '10') },
  ],
  [
    'R11',
    { arrange: () => config('appendfsync', 'everysec') },
    { arrange: () => config('appendfsync', 'always') },
  ],
  [
    'R13',
    {
      arrange: () => config('slowlog-log-slower-than', '0'),
      leaseMs: tinyLeaseMs,
    },
    {
      arrange: async () => {
        await config('slowlog-log-slower-than', '10000');
        await raw.call('SLOWLOG', 'RESET');
      },
      // A busy machine may make any command slow.
      leaseMs: 6_000_000,
    },
  ],
  [
    'R14',
    {
      arrange: async () => {
        await raw.call('BGREWRITEAOF');
        await until('it has forked', async () =>
          /latest_fork_usec:[1-9]/.test(await raw.info('stats')),
        );
      },
      leaseMs: tinyLeaseMs,
    },
    { leaseMs: 6_000_000 },
  ],
  ['R16', {}, { arrange: () => config('requirepass', 'pw'), url: () => as('auditor') }],
  [
    'R20',
    { arrange: () => config('tcp-keepalive', '0') },
    { arrange: () => config('tcp-keepalive', '300') },
  ],
  [
    'R22',
    {
      arrange: () => raw.multi().select(1).set('cache', 'x').select(0).set('a', 'x').exec(),
    },
    { arrange: () => raw.flushall() },
  ],
  ['X03', {}, { url: () => as('auditor') }],
];

describe('an audit of a real server', () => {
  test.each(cases)('%s fails and passes as the server is set', async (id, bad, good) => {
    for (const [wanted, { arrange, url, leaseMs }] of [
      ['fail', bad],
      ['pass', good],
    ] as const) {
      await arrange?.();
      const found = await judgement(id, url?.() ?? lab.target, leaseMs);
      expect(found).toMatchObject({ state: wanted });
    }
    await config('requirepass', '', 'min-replicas-to-write', '0');
  });

  test('judges the version, and has a case for every other check', async () => {
    expect(['pass', 'fail']).toContain((await judgement('R21', lab.target)).state);
    const covered = new Set([...cases.map(([id]) => id), 'R21']);
    expect(redisChecks.filter(({ id }) => !covered.has(id))).toEqual([]);
  });

  test('changes no setting', async () => {
    // CONFIG GET tells them in no fixed order.
    const settings = async () => [await raw.call('CONFIG', 'GET', '*')].flat().map(String).sort();
    const before = await settings();
    await audit(lab.target, 10_000);
    expect(await settings()).toEqual(before);
  });
});

describe('accounts', () => {
  test('one with +@read alone learns what it lacks, and passes no check of the server', async () => {
    await raw.set('b:lock', 'token-3f9c2a77', 'PX', 600_000);
    const { results, verdict } = await audit(as('reader'), 10_000);
    expect(verdict).toBe('unknown');
    const ofServer = results.filter(({ id }) => id !== 'R01' && id !== 'R02');
    for (const { judgement: found } of ofServer) {
      expect(found).toMatchObject({ state: 'unknown' });
      expect(found.state === 'unknown' && found.remedy).toMatch(/^needs \+/);
    }
    expect(results.length - ofServer.length).toBe(2);
  });

  test('one with a few commands more leaves nothing unknown', async () => {
    const { results } = await audit(as('auditor'), 10_000);
    expect(results.filter(({ judgement: found }) => found.state === 'unknown')).toEqual([]);
  });
});

test('other kinds of targets are refused in one sentence, unasked', async () => {
  for (const url of [
    'redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3',
    'redis+cluster://127.0.0.1:1',
  ]) {
    await expect(audit(url, 10_000)).rejects.toThrow(UsageError);
    await expect(audit(url, 10_000)).rejects.toThrow('audit knows one Redis server');
  }
});
