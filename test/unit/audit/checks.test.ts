import { describe, expect, test } from 'vitest';
import type { AuditFacts } from '../../../src/audit/check.ts';
import { checksOf, findCheck } from '../../../src/audit/registry.ts';
import type { Judgement } from '../../../src/domain/audit-report.ts';
import { known, unknown } from '../../../src/domain/known.ts';
import { stringToText } from '../../../src/domain/text.ts';
import { facts, lock, lockSample, refusedFacts, type Changes } from '../../helpers/audit-facts.ts';

const redisChecks = checksOf('redis');
const limits = { leaseMs: 10_000 };

function judge(id: string, of: AuditFacts): Judgement {
  const judgement = findCheck(id).judge(of, limits);
  if (judgement === undefined) throw new Error(`${id} is not about this kind of service`);
  return judgement;
}

/** What of a sound server has to change so that the check fails, and words of what it then says. */
const failing: readonly (readonly [id: string, title: string, change: Changes, found: string])[] = [
  [
    'R01',
    'a lock without a TTL',
    { locks: lockSample([lock('a', 9000), lock('b', undefined), lock('c', undefined)]) },
    'b (no TTL) and 1 more',
  ],
  ['R02', 'a TTL over an hour', { locks: lockSample([lock('a', 7_200_000)]) }, 'a (2h left)'],
  [
    'R04',
    'an eviction policy',
    { settings: { 'maxmemory-policy': 'volatile-ttl' } },
    'maxmemory-policy volatile-ttl',
  ],
  ['R05', 'little memory left', { info: { used_memory: '90000000' } }, '90 % of maxmemory'],
  [
    'R05',
    'a machine almost full without a limit',
    { info: { maxmemory: '0', used_memory: '950000000' } },
    '95 % of the machine; a limit of its container is not seen',
  ],
  ['R06', 'evicted keys', { info: { evicted_keys: '7' } }, '7 evicted since its start 1d ago'],
  ['R09', 'a replica', { redis: { role: known('replica') } }, 'replica'],
  [
    'R10',
    'replicas that need not follow',
    { settings: { 'min-replicas-to-write': '0' } },
    'min-replicas-to-write 0, max-lag 10 s, 2 connected',
  ],
  [
    'R10',
    'replicas that may lag for long',
    { settings: { 'min-replicas-max-lag': '60' } },
    'max-lag 60 s',
  ],
  ['R11', 'no append-only file', { settings: { appendonly: 'no' } }, 'no append-only file'],
  ['R11', 'writes of each second', { settings: { appendfsync: 'everysec' } }, 'everysec'],
  [
    'R13',
    'a command slower than a tenth of the lease',
    { redis: { slowest: known({ name: stringToText('KEYS'), tookMs: 1500, among: 9 }) } },
    'KEYS took 1.5s, slowest of the last 9 logged',
  ],
  ['R14', 'a long fork', { info: { latest_fork_usec: '1200000' } }, 'the latest took 1.2s'],
  [
    'R16',
    'a default user without a password',
    { redis: { openToAll: known(true) } },
    'no password',
  ],
  ['R16', 'clear text beyond loopback', { redis: { encrypted: false } }, 'bound to "10.0.0.4"'],
  ['R20', 'a timeout below the lease', { settings: { timeout: '5' } }, 'timeout 5 s'],
  ['R20', 'no keepalive', { settings: { 'tcp-keepalive': '0' } }, 'tcp-keepalive 0 s'],
  ['R21', 'an ended release line', { info: { redis_version: '7.0.15' } }, '7.0.15'],
  ['R22', 'keys in two databases', { info: { db3: 'keys=1' } }, 'keys in db0 db3'],
  ['X03', 'an account that may write', { redis: { mayWrite: known(true) } }, '"auditor" may write'],
];

describe('every check', () => {
  test.each(redisChecks.map(({ id }) => id))('%s passes on a sound server', (id) => {
    expect(judge(id, facts())).toMatchObject({ state: 'pass' });
  });

  test.each(failing)('%s fails on %s', (id, _title, change, found) => {
    const judgement = judge(id, facts(change));
    expect(judgement.state).toBe('fail');
    expect(judgement.state === 'fail' && judgement.found).toContain(found);
    expect(judgement.evidence).not.toHaveLength(0);
  });

  test('has a failing case above', () => {
    expect(new Set(failing.map(([id]) => id))).toEqual(new Set(redisChecks.map(({ id }) => id)));
  });

  test.each(redisChecks.map(({ id }) => id))(
    '%s is unknown, with what would answer it, when everything was refused',
    (id) => {
      expect(judge(id, refusedFacts())).toMatchObject({ state: 'unknown', remedy: 'needs +it' });
    },
  );

  test('has an id of its own, in order', () => {
    const ids = redisChecks.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].sort());
  });
});

describe('a managed server that hides CONFIG', () => {
  const hidden = facts({ redis: { settings: new Map() } });

  test('is judged by INFO where INFO tells the same', () => {
    expect(judge('R04', hidden).state).toBe('pass');
  });

  test('is unknown where only CONFIG would tell', () => {
    for (const id of ['R10', 'R11', 'R13', 'R20']) expect(judge(id, hidden).state).toBe('unknown');
  });

  test('fails without an append-only file, which INFO tells', () => {
    const info = known(new Map([['aof_enabled', stringToText('0')]]));
    expect(judge('R11', facts({ redis: { settings: new Map(), info } })).state).toBe('fail');
  });
});

describe('an answer that is no number', () => {
  test.each([
    ['R05', { info: { used_memory: 'much' } }],
    ['R06', { info: { evicted_keys: '' } }],
    ['R10', { settings: { 'min-replicas-to-write': 'one' } }],
    ['R14', { info: { latest_fork_usec: '-1' } }],
    ['R20', { settings: { timeout: 'never' } }],
    ['R21', { info: { redis_version: 'unstable' } }],
  ] as const)('leaves %s unknown, neither passed nor failed', (id, changes) => {
    expect(judge(id, facts(changes)).state).toBe('unknown');
  });
});

describe('what a primary without its replicas is told', () => {
  test('passes while it refuses to write without them', () => {
    expect(judge('R10', facts({ info: { connected_slaves: '0' } })).state).toBe('pass');
  });
});

describe('the memory of the machine', () => {
  test('is not asked for where maxmemory is set', () => {
    expect(judge('R05', facts({ info: { total_system_memory: '' } })).state).toBe('pass');
  });
});

describe('what does not apply', () => {
  test('replicas to write, where there are none', () => {
    const alone = { info: { connected_slaves: '0' }, settings: { 'min-replicas-to-write': '0' } };
    expect(judge('R10', facts(alone)).state).toBe('not-applicable');
  });

  test('forks, where there was none', () => {
    expect(judge('R14', facts({ info: { total_forks: '0' } })).state).toBe('not-applicable');
  });

  test('TTLs, where there is no lock', () => {
    expect(judge('R01', facts({ locks: lockSample([]) })).state).toBe('not-applicable');
  });
});

describe('half of the truth is no pass', () => {
  test('a part of the locks, all of them sound', () => {
    const some = lockSample([lock('a', 9000)], false);
    expect(judge('R01', facts({ locks: some })).state).toBe('unknown');
  });

  test('a slow log that leaves out what would be too slow', () => {
    for (const threshold of ['-1', '5000000']) {
      const quiet = facts({ settings: { 'slowlog-log-slower-than': threshold } });
      expect(judge('R13', quiet).state).toBe('unknown');
    }
  });

  test('a role that only INFO would tell, when it is refused too', () => {
    const refused = unknown('refused', 'needs +role');
    const { state } = judge('R09', facts({ redis: { role: refused } }));
    expect(state).toBe('pass');
    expect(judge('R09', facts({ redis: { role: refused, info: refused } })).state).toBe('unknown');
  });
});

describe('clear text', () => {
  const local = { redis: { encrypted: false }, settings: { bind: '127.0.0.1 -::1' } };

  test('is nobody else’s to read on loopback', () => {
    expect(judge('R16', facts(local)).state).toBe('pass');
  });

  test('is unknown where the address is not told', () => {
    const of = facts({ redis: { encrypted: false, settings: new Map() } });
    expect(judge('R16', of).state).toBe('unknown');
  });
});
