/** The identity of a grant must survive being written down, and change with the grant only. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { grantBytes } from '../../../../src/backends/redis/grant.ts';
import { readIdentity, toIdentity } from '../../../../src/backends/redis/identity.ts';
import { fencepostFenced } from '../../../../src/conventions/fencepost-fenced.ts';
import { plainRedis } from '../../../../src/conventions/plain-redis.ts';
import { redisson } from '../../../../src/conventions/redisson.ts';
import type { RedisRecord } from '../../../../src/conventions/convention.ts';
import { ConventionSet } from '../../../../src/conventions/convention-set.ts';
import { redisConventions } from '../../../../src/conventions/redis-index.ts';
import { InternalError } from '../../../../src/domain/errors.ts';
import { known } from '../../../../src/domain/known.ts';
import type { IdentityRecord } from '../../../../src/domain/lock.ts';
import { bytesToText, parseText } from '../../../../src/domain/text.ts';

const conventions = new ConventionSet([], redisConventions);
const source = { database: 0, runId: 'r' };
const base = { system: 'redis', siblings: new Map(), serverTimeMs: known(1) } as const;

function string(value: string, ttlMs = 1_000): RedisRecord {
  return { ...base, key: parseText('k'), type: 'string', ttlMs, value: parseText(value) };
}

function hash(fields: Record<string, string>): RedisRecord {
  const entries = Object.entries(fields).map(
    ([name, value]) => [parseText(name), parseText(value)] as const,
  );
  return { ...base, key: parseText('k'), type: 'hash', ttlMs: 1_000, fields: new Map(entries) };
}

const token = (record: RedisRecord, convention = plainRedis) =>
  toIdentity(source, convention, record).expect;

test('a grant that was written down is the same grant when read again, whatever its bytes', () => {
  const text = fc.uint8Array({ maxLength: 30 }).map(bytesToText);
  fc.assert(
    fc.property(text, text, fc.array(fc.tuple(text, text)), (key, value, fields) => {
      const one: RedisRecord = { ...base, key, type: 'string', ttlMs: undefined, value };
      const many: RedisRecord = { ...base, key, type: 'hash', ttlMs: 5, fields: new Map(fields) };
      for (const [record, convention] of [
        [one, plainRedis],
        [many, redisson],
      ] as const) {
        const identity = toIdentity(source, convention, record);
        const read = readIdentity(identity.record, conventions);
        expect(grantBytes(read.record, convention)).toBe(grantBytes(record, convention));
        expect(read.convention).toBe(convention);
      }
    }),
  );
});

test('the token changes with the owner and the database, not with the time left', () => {
  expect(token(string('a'))).toMatch(/^r1\.[0-9a-f]{8}$/);
  expect(token(string('a', 5))).toBe(token(string('a', 9_000)));
  expect(token(string('a'))).not.toBe(token(string('b')));
  const elsewhere = toIdentity({ ...source, database: 1 }, plainRedis, string('a')).expect;
  expect(elsewhere).not.toBe(token(string('a')));
});

test('a hash has no order, but every count in it', () => {
  expect(token(hash({ a: '1', b: '2' }), redisson)).toBe(token(hash({ b: '2', a: '1' }), redisson));
  expect(token(hash({ a: '1' }), redisson)).not.toBe(token(hash({ a: '2' }), redisson));
});

test('a fenced grant is its owner, fence and time; its lease length may change', () => {
  const grant = { owner: 'a', fence: '3', grantedAt: '9' };
  const first = token(hash({ ...grant, leaseMs: '1000' }), fencepostFenced);
  expect(token(hash({ ...grant, leaseMs: '2000' }), fencepostFenced)).toBe(first);
  expect(token(hash({ ...grant, fence: '4', leaseMs: '1000' }), fencepostFenced)).not.toBe(first);
});

test('an identity of another backend is refused, not misread', () => {
  for (const foreign of ['{"path":"/a"}', 'e1.2.2.7d7b']) {
    expect(() => readIdentity(foreign as IdentityRecord, conventions)).toThrow(InternalError);
  }
});
