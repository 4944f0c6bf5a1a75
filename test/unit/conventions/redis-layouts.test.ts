/** Redis layouts as pure decoders: records as the libraries write them, and look-alikes. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type {
  RedisConvention,
  RedisRecord,
  RedisSibling,
} from '../../../src/conventions/convention.ts';
import { placeInValue, weakness } from '../../../src/conventions/owner-shape.ts';
import { redisConventions } from '../../../src/conventions/redis-index.ts';
import { redisson } from '../../../src/conventions/redisson.ts';
import { redissonReadWrite } from '../../../src/conventions/redisson-read-write.ts';
import { known, unknown, valueOf } from '../../../src/domain/known.ts';
import { bytesToText, parseText, type Text } from '../../../src/domain/text.ts';

const owner = '6e1c2d34-0a1b-4c5d-8e9f-a0b1c2d3e4f5:51';
const now = 1_796_181_887_309;

function hash(key: string, fields: Record<string, string>, ttlMs?: number): RedisRecord {
  const entries = Object.entries(fields).map(
    ([name, value]) => [parseText(name), parseText(value)] as const,
  );
  return {
    system: 'redis',
    key: parseText(key),
    type: 'hash',
    ttlMs,
    fields: new Map(entries),
    siblings: new Map(),
    serverTimeMs: known(now),
  };
}

function beside(
  record: RedisRecord,
  siblings: readonly (Partial<RedisSibling> & { key: Text })[],
): RedisRecord {
  return {
    ...record,
    siblings: new Map(
      siblings.map((one) => [one.key, { type: 'string', ttlMs: undefined, ...one }]),
    ),
  };
}

describe('Redisson', () => {
  test('one owner with a count is a lock, surely with its own kind of id, less so with another', () => {
    expect(redisson.matches(hash('order:42', { [owner]: '3' }, 30_000))).toBe('high');
    expect(redisson.matches(hash('invoice', { '7d1b-uuid:31': '2' }, 30_000))).toBe('medium');
    expect(redisson.matches(hash('invoice', { '7d1b-uuid:31': '2' }))).toBe('low');
  });

  test('hashes of anything else are not claimed', () => {
    const others = [
      { name: 'Ada', age: '36' },
      { 'item:12': '3' },
      { [owner]: 'x' },
      { [owner]: '0' },
      { [owner]: '1', 'other-uuid:2': '1' },
      {},
    ];
    for (const fields of others) {
      expect(redisson.matches(hash('thing', fields, 30_000))).toBeUndefined();
    }
  });

  test('a name that has braces of its own gets none around it', () => {
    const keys = (name: string) => redisson.siblings(hash(name, {})).map((one) => String(one.key));
    expect(keys('order:45')).toContain('redisson_lock_token:{order:45}');
    expect(keys('{tenant1}:job')).toContain('redisson_lock_token:{tenant1}:job');
    expect(redisson.helperOf(parseText('redisson_lock_token:{tenant1}:job'))).toBe('{tenant1}:job');
    expect(redisson.helperOf(parseText('redisson_lock_queue:{order:44}'))).toBe('order:44');
    expect(redisson.helperOf(parseText('redisson_unlock_latch:{order:44}:abc'))).toBe('order:44');
    expect(redisson.helperOf(parseText('order:44'))).toBeUndefined();
  });

  test('a token beside it makes it a fenced lock, whose counter a release raises and never deletes', () => {
    const token = parseText('redisson_lock_token:{order:45}');
    const record = beside(hash('order:45', { [owner]: '1' }, 30_000), [
      { key: token, value: parseText('17') },
    ]);
    const decoded = redisson.decode(record);
    expect(decoded).toMatchObject({
      title: 'Redisson fenced lock',
      fence: { kind: 'token', token: 17n },
    });
    expect(redisson.release(record, decoded)).toMatchObject({ fenceKey: token, alsoDelete: [] });
  });

  test('a queue makes it a fair lock: waiters in order, the stale one marked, the head woken', () => {
    const record = beside(hash('order:44', { [owner]: '1' }, 30_000), [
      {
        key: parseText('redisson_lock_queue:{order:44}'),
        type: 'list',
        members: [{ member: parseText('w:7') }, { member: parseText('w:8') }],
      },
      {
        key: parseText('redisson_lock_timeout:{order:44}'),
        type: 'zset',
        members: [
          { member: parseText('w:7'), score: now - 1 },
          { member: parseText('w:8'), score: now + 5_000 },
        ],
      },
    ]);
    const decoded = redisson.decode(record);
    expect(decoded.waiters).toMatchObject({
      kind: 'exact',
      list: [
        { position: 1, owner: 'w:7', lease: { ttlMs: 0 } },
        { position: 2, owner: 'w:8', lease: { ttlMs: 5_000 } },
      ],
    });
    expect(decoded.notes.map((note) => note.code)).toEqual(['dead-waiter']);
    expect(redisson.release(record, decoded)).toMatchObject({
      publish: [],
      queue: { channel: 'redisson_lock__channel:{order:44}', message: '0' },
    });
  });

  test('without word of its subscribers, waiters are unknown and not zero', () => {
    expect(redisson.decode(hash('order:42', { [owner]: '1' }, 1)).waiters.kind).toBe('unknown');
  });

  test('in a read/write lock the mode is no holder, and each reader has its own time', () => {
    const record = beside(
      hash('catalog', { mode: 'read', 'r1-uuid:5': '1', 'r2-uuid:9': '1' }, 600_000),
      [{ key: parseText('{catalog}:r1-uuid:5:rwlock_timeout:1'), ttlMs: 600_000 }],
    );
    expect(redissonReadWrite.matches(record)).toBe('high');
    const decoded = redissonReadWrite.decode(record);
    expect(decoded).toMatchObject({
      mode: 'shared',
      holders: {
        value: [
          { owner: 'r1-uuid:5', mode: 'read', lease: { kind: 'ttl', ttlMs: 600_000 } },
          { owner: 'r2-uuid:9', mode: 'read', lease: { kind: 'ttl', ttlMs: 0 } },
        ],
      },
    });
    expect(decoded.notes.map((note) => note.code)).toEqual(['reader-expired']);
    expect(redissonReadWrite.grantOf?.(record, undefined)).toBeUndefined();
    const reader = parseText('r2-uuid:9');
    expect(redissonReadWrite.grantOf?.(record, reader)).toMatchObject({
      want: [reader, '1'],
      exact: false,
      part: { remove: [reader], idle: ['mode'] },
    });
  });

  test('a writer that also reads is one owner, and its read time falls with the lock', () => {
    const timeout = parseText(`{doc:3}:${owner}:rwlock_timeout:1`);
    const record = beside(
      hash('doc:3', { mode: 'write', [`${owner}:write`]: '1', [owner]: '1' }, 30_000),
      [{ key: timeout, ttlMs: 30_000 }],
    );
    const decoded = redissonReadWrite.decode(record);
    expect(decoded.mode).toBe('exclusive');
    const release = redissonReadWrite.release(record, decoded);
    expect(release).toMatchObject({
      alsoDelete: [timeout],
      publish: [{ channel: 'redisson_rwlock:{doc:3}', message: '1', sharded: true }],
    });
    expect(redissonReadWrite.helperOf(timeout)).toBe('doc:3');
  });
});

describe('owner values', () => {
  test.each([
    'worker',
    'w1',
    '',
    'true',
    '17',
    '1796181887309',
    '2026-12-02T04:10:00Z',
    '{"host":"a"}',
    'payment-service',
    'payments-7d4b9c6f5-x2x9z',
    'app-7.internal.example.com',
    '10.0.3.7',
    '9f3c',
  ])('%j does not tell one holder from the next', (value) => {
    expect(weakness(parseText(value))).toBeTypeOf('string');
  });

  test.each([
    'ec0eacc2edff11f192d602fc00000001',
    'b944d87b-51b7-4710-9ed1-7a24c4298609',
    'AAECAwQFBgcICQoLDA0ODw',
    'AAECAwQFBgcICQoLDA0ODxAR',
    'aB3dE5fG7hI9jK1L',
    'NODE-1_4242_0123456789abcdef0123456789abcdef',
  ])('%j looks random', (value) => {
    expect(weakness(parseText(value))).toBeUndefined();
  });

  test('raw bytes look random, and a host is read where the value names one', () => {
    const uuid1 = [0xee, 0xca, 0xda, 8, 0xed, 0xff, 0x11, 0xf1, 0x8b, 0x55, 2, 0xfc, 0, 0, 0, 1];
    expect(weakness(bytesToText(Uint8Array.from(uuid1)))).toBeUndefined();
    expect(placeInValue(parseText('10.0.3.7:4711:abc'))).toMatchObject({
      value: { host: '10.0.3.7' },
    });
    expect(placeInValue(parseText('ADDED:2030-01-01T00:00:00.000Z@node-1:6e1c'))).toMatchObject({
      value: { host: 'node-1' },
    });
    expect(placeInValue(parseText('1.2.3.4.5'))).toMatchObject({ kind: 'unknown' });
  });
});

/** Keys that layouts are told by. */
const telling = [
  'fencepost:{a}:lock',
  'a',
  '{a}:b',
  '{a}:timeout',
  'a.writer',
  'a.readers',
  'a:LOCKED',
  'rueidislock:0:a',
  'rueidislock:1:a',
  'bull:q:1:lock',
  'lock:a',
  'lock-signal:a',
  'redisson_lock_queue:{a}',
  'redisson_lock_timeout:{a}',
  'redisson_lock_token:{a}',
  'redisson_lock__channel:{a}',
  'redisson_rwlock:{a}',
  'redisson_sc:{a}',
  'redisson_countdownlatch__channel__{a}',
  'app-cache-a1',
];

/** What is read beside a record: a key of any type, or a channel. */
function sibling(text: fc.Arbitrary<Text>): fc.Arbitrary<RedisSibling> {
  return fc.record({
    key: fc.constantFrom(...telling.map(parseText)),
    type: fc.constantFrom(...(['string', 'list', 'zset', 'set', 'hash', 'none'] as const)),
    ttlMs: fc.option(fc.nat(), { nil: undefined }),
    value: text,
    members: fc.array(fc.record({ member: text, score: fc.double() }), { maxLength: 3 }),
    subscribers: fc.constantFrom(known(0), known(3), unknown('refused')),
    blocked: fc.constantFrom(known(0), known(2), unknown('refused')),
  });
}

test('no layout throws on any record, and all it says is safe to print', () => {
  const text = fc.uint8Array({ maxLength: 40 }).map(bytesToText);
  const record = fc.record({
    system: fc.constant('redis' as const),
    key: fc.oneof(text, fc.constantFrom(...telling.map(parseText))),
    type: fc.constantFrom(...(['string', 'hash', 'zset', 'set', 'list', 'none'] as const)),
    ttlMs: fc.option(fc.nat(), { nil: undefined }),
    value: text,
    fields: fc
      .array(fc.tuple(fc.oneof(text, fc.constant(parseText('mode'))), text))
      .map((all) => new Map(all)),
    members: fc.array(fc.record({ member: text, score: fc.double() })),
    siblings: fc
      .array(sibling(text))
      .map((all) => new Map<Text, RedisSibling>(all.map((one) => [one.key, one]))),
    serverTimeMs: fc.constantFrom(known(now), unknown('not asked')),
  });
  const check = (convention: RedisConvention, one: RedisRecord): void => {
    convention.helperOf(one.key);
    convention.siblings(one);
    if (!convention.types.includes(one.type)) return;
    convention.matches(one);
    const decoded = convention.decode(one);
    const [holder] = valueOf(decoded.holders) ?? [];
    convention.grantOf?.(one, undefined);
    convention.grantOf?.(one, holder?.owner);
    const name = convention.nameOf?.(one.key);
    if (name !== undefined) convention.keyOf?.(name);
    convention.keysMatching?.(one.key);
    const release = convention.release(one, decoded, holder?.owner);
    const said = JSON.stringify([decoded, release], (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    // eslint-disable-next-line no-control-regex -- control bytes are what must not be there
    expect(said).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  };
  fc.assert(
    fc.property(record, (one) => {
      for (const convention of redisConventions) check(convention, one);
    }),
  );
});
