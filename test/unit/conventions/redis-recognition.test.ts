/** The decision table: whose lock a string is, how sure that is, and what else it could be. */
import { describe, expect, test } from 'vitest';
import { recognise } from '../../../src/backends/redis/recognise.ts';
import type { RedisRecord } from '../../../src/conventions/convention.ts';
import { ConventionSet } from '../../../src/conventions/convention-set.ts';
import { redisConventions } from '../../../src/conventions/redis-index.ts';
import { defaultLockPatterns, globMatcher } from '../../../src/domain/glob.ts';
import { known } from '../../../src/domain/known.ts';
import { parseText } from '../../../src/domain/text.ts';

const conventions = new ConventionSet([], redisConventions);
const isLockName = globMatcher(defaultLockPatterns);
const uuid = '6e1c2d34-0a1b-4c5d-8e9f-a0b1c2d3e4f5';
const uuid1 = '5f1d3a2ab0c211eea1b20242ac120002';

function string(key: string, value: string): RedisRecord {
  return {
    system: 'redis',
    key: parseText(key),
    type: 'string',
    ttlMs: 30_000,
    value: parseText(value),
    siblings: new Map(),
    serverTimeMs: known(1_796_181_887_309),
  };
}

function verdict(key: string, value: string): readonly unknown[] | undefined {
  const found = recognise(string(key, value), isLockName, conventions);
  return found && [found.convention.id, found.confidence, ...found.candidates];
}

describe('a string is told by its value', () => {
  test.each([
    [`ADDED:2030-01-01T00:00:00.000Z@node-1:${uuid}`, ['shedlock-redis', 'high']],
    ['NODE-1_4242_0123456789abcdef0123456789abcdef', ['distributed-lock-mutex', 'high']],
    ['AAECAwQFBgcICQoLDA0ODw==', ['redsync', 'medium']],
    ['AAECAwQFBgcICQoLDA0ODw', ['bsm-redislock', 'medium']],
    ['AAECAwQFBgcICQoLDA0ODw{"host":"a"}', ['bsm-redislock', 'medium']],
    ['AAECAwQFBgcICQoLDA0ODwABCDEFGH', ['bsm-redislock', 'low', 'plain']],
    [uuid1, ['redis-py', 'medium']],
    ['0123456789abcdef0123456789abcdef', ['node-redlock', 'low', 'plain']],
    // Version 1 and its variant, made in the year 3211: sixteen random bytes.
    ['5f1d3a2ab0c215eea1b20242ac120002', ['node-redlock', 'low', 'plain']],
    [uuid, ['uuid-string', 'low', 'redlock-rb', 'aioredlock', 'plain']],
  ])('%s', (value, expected) => {
    expect(verdict('job', value)).toEqual(expected);
  });

  test('an ordinary value is nobody’s', () => {
    for (const value of ['worker', '17', '{"a":1}', 'true', '2026-12-02T04:10:00Z']) {
      expect(verdict('job', value)).toBeUndefined();
    }
  });
});

describe('its key tells more', () => {
  test.each([
    ['redlock:invoice', uuid, ['redlock-net', 'medium', 'pottery']],
    ['{hangfire}:job', uuid, ['hangfire', 'high']],
    [
      'registry:inbox',
      uuid,
      ['uuid-string', 'low', 'spring-integration', 'redlock-rb', 'aioredlock', 'plain'],
    ],
    ['redbeat::lock', uuid1, ['redbeat', 'high']],
    ['qo_task_a-1', uuid1, ['celery-once', 'medium', 'redis-py']],
    ['bull:mail:7:lock', `${uuid}:0`, ['bullmq', 'high']],
    ['queues:mail:7:lock', `${uuid}:0`, ['bullmq', 'medium']],
    ['lock:import', 'AAECAwQFBgcICQoLDA0ODxAR', ['python-redis-lock', 'high']],
    ['lock:UpdateReport-[7]', 'true', ['resque-lock', 'high']],
    ['resque:lock:UpdateReport-[7]', 'true', ['resque-lock', 'high']],
    ['app-cache-deploy', 'aB3dE5fG7hI9jK1L', ['laravel', 'medium']],
    ['app-cache-deploy', 's:16:"aB3dE5fG7hI9jK1L";', ['laravel', 'medium']],
    ['app-laravel_unique_job:App\\Jobs\\Mail:7', 'aB3dE5fG7hI9jK1L', ['laravel', 'high']],
    [
      'app-framework/schedule-0123456789abcdef0123456789abcdef01234567',
      'aB3dE5fG7hI9jK1L',
      ['laravel', 'high'],
    ],
    ['throttle:mail3', 'aB3dE5fG7hI9jK1LmN2o', ['laravel', 'low', 'plain']],
  ])('%s → %s', (key, value, expected) => {
    expect(verdict(key, value)).toEqual(expected);
  });
});

describe('a name that says lock makes a string one, and every library that fits is a candidate', () => {
  test.each([
    ['lock:import', 'worker', ['plain', 'medium', 'python-redis-lock']],
    ['report:lock', '7a02be10c4d14f6b', ['plain', 'medium']],
    ['job-lock', uuid, ['plain', 'medium', 'uuid-string', 'redlock-rb', 'aioredlock']],
    ['lock:count', '17', ['plain', 'low']],
  ])('%s → %s', (key, value, expected) => {
    expect(verdict(key, value)).toEqual(expected);
  });
});
