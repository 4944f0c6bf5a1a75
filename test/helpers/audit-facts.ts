/** Facts of a sound Redis for audit tests, in which a test changes what it is about. */
import type { AuditFacts, LockSample } from '../../src/audit/check.ts';
import { known, unknown, type Known } from '../../src/domain/known.ts';
import type { LockSnapshot } from '../../src/domain/lock.ts';
import {
  auditedSettings,
  type AuditedSetting,
  type RedisFacts,
} from '../../src/domain/redis-facts.ts';
import { stringToText, type Text } from '../../src/domain/text.ts';

const soundInfo = {
  redis_version: '7.4.2',
  uptime_in_seconds: '86400',
  used_memory: '10000000',
  maxmemory: '100000000',
  maxmemory_policy: 'noeviction',
  total_system_memory: '1000000000',
  aof_enabled: '1',
  latest_fork_usec: '900',
  total_forks: '3',
  evicted_keys: '0',
  role: 'master',
  connected_slaves: '2',
  db0: 'keys=4,expires=4,avg_ttl=9000',
};

const soundSettings: Readonly<Record<AuditedSetting, string>> = {
  maxmemory: '100000000',
  'maxmemory-policy': 'noeviction',
  'min-replicas-to-write': '1',
  'min-replicas-max-lag': '10',
  appendonly: 'yes',
  appendfsync: 'always',
  timeout: '0',
  'tcp-keepalive': '300',
  bind: '10.0.0.4',
  'slowlog-log-slower-than': '10000',
};

export interface Changes {
  readonly info?: Readonly<Record<string, string>>;
  readonly settings?: Partial<Record<AuditedSetting, string>>;
  readonly redis?: Partial<RedisFacts>;
  readonly locks?: Known<LockSample>;
}

export function facts({
  info = {},
  settings = {},
  redis = {},
  locks,
}: Changes = {}): AuditFacts<RedisFacts> {
  const fields = Object.entries({ ...soundInfo, ...info }).map(([name, value]): [string, Text] => [
    name,
    stringToText(value),
  ]);
  const values = { ...soundSettings, ...settings };
  return {
    server: {
      kind: 'redis',
      server: '10.0.0.4:6379',
      at: '2026-12-01T10:00:00.000Z',
      encrypted: true,
      info: known(new Map(fields)),
      settings: new Map(auditedSettings.map((name) => [name, known(stringToText(values[name]))])),
      role: known('primary'),
      slowest: known('none'),
      openToAll: known(false),
      account: known(stringToText('auditor')),
      mayWrite: known(false),
      ...redis,
    },
    locks: locks ?? lockSample([lock('a:lock', 9000)]),
  };
}

/** Everything refused, as an account without rights sees it. */
export function refusedFacts(): AuditFacts<RedisFacts> {
  const refused = unknown('it was refused (NOPERM)', 'needs +it');
  return facts({
    redis: {
      encrypted: false,
      info: refused,
      settings: new Map(auditedSettings.map((name) => [name, refused])),
      role: refused,
      slowest: refused,
      openToAll: refused,
      account: refused,
      mayWrite: refused,
    },
    locks: refused,
  });
}

export function lockSample(locks: readonly LockSnapshot[], complete = true): Known<LockSample> {
  return known({ locks, read: locks.length, complete });
}

/** A plain held lock; `ttlMs` undefined is a lock without a TTL. */
export function lock(name: string, ttlMs: number | undefined): LockSnapshot {
  const lease =
    ttlMs === undefined
      ? ({ kind: 'never' } as const)
      : ({ kind: 'ttl', ttlMs, grantedMs: unknown('the record does not say') } as const);
  return {
    ref: { name: stringToText(name) },
    state: ttlMs === undefined ? 'no-ttl' : 'held',
    recognition: {
      convention: 'plain',
      title: 'plain string',
      confidence: 'medium',
      candidates: [],
      forced: false,
    },
    mode: 'exclusive',
    holders: known([]),
    lease,
    waiters: { kind: 'unknown', reason: 'not kept' },
    fence: { kind: 'none' },
    heldForMs: unknown('not kept'),
    helpers: [],
    notes: [],
    identity: undefined,
    server: { endpoint: '10.0.0.4:6379', role: known('primary') },
  };
}
