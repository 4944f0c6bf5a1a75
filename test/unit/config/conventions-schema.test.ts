/** `conventions.yaml`: what it means, and how precisely it is refused. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { builtInConventions } from '../../../src/config/catalogue.ts';
import { parseConventions } from '../../../src/config/conventions-schema.ts';
import { toConventions } from '../../../src/config/own-conventions.ts';
import type { OwnConventions } from '../../../src/conventions/convention-set.ts';
import type { EtcdKey, RedisRecord } from '../../../src/conventions/convention.ts';
import { InputFileError } from '../../../src/domain/errors.ts';
import { known, valueOf } from '../../../src/domain/known.ts';
import { bytesToText, parseText } from '../../../src/domain/text.ts';

function load(body: string): OwnConventions {
  const text = `version: 1\nconventions:\n${body}`;
  return toConventions(parseConventions(text, 'c.yaml', () => ['plain']));
}

/** Message and hint of the refusal. */
function refusal(body: string): { readonly message: string; readonly hint: string | undefined } {
  try {
    load(body);
  } catch (error) {
    if (error instanceof InputFileError) return { message: error.message, hint: error.hint };
    throw error;
  }
  throw new Error('the file was accepted');
}

const acme = `
  - name: acme-job
    system: redis
    type: hash
    key: "acme:<name>:lock"
    owner: { field: holder, pattern: "<host>/<pid>/<owner>" }
    grant: [holder, since]
    fence: "acme:<name>:fence"
    wake:
      - publish: "acme:<name>:done"
        message: "<key>"
      - push: "<key>:wait"
        expires: 2s
`;

function hash(key: string, fields: Readonly<Record<string, string>>, fence?: string): RedisRecord {
  const entries = Object.entries(fields).map(([n, v]) => [parseText(n), parseText(v)] as const);
  const counter = parseText('acme:a:fence');
  return {
    system: 'redis',
    key: parseText(key),
    type: 'hash',
    ttlMs: 1_000,
    fields: new Map(entries),
    siblings: new Map(
      fence === undefined
        ? []
        : [[counter, { key: counter, type: 'string', ttlMs: undefined, value: parseText(fence) }]],
    ),
    serverTimeMs: known(1),
  };
}

describe('a convention of your own on Redis', () => {
  const [own] = load(acme).redis;
  const record = hash('acme:a:lock', { holder: 'web-1/42/t9', since: '2030', beat: '7' }, '41');

  test('reads the owner, where it runs, and the fence', () => {
    expect(own?.matches(record)).toBe('high');
    const decoded = own?.decode(record);
    expect(decoded?.holders).toMatchObject({
      value: [{ owner: 't9', place: { value: { host: 'web-1', pid: 42 } } }],
    });
    expect(decoded?.fence).toEqual({ kind: 'token', token: 41n, source: 'counter' });
    expect(decoded?.helpers).toEqual(['acme:a:fence']);
    expect(own?.grantFields).toEqual(['holder', 'since']);
  });

  test('wakes with what its library would send, and raises its fence', () => {
    const decoded = own?.decode(record);
    expect(decoded && own?.release(record, decoded)).toMatchObject({
      fenceKey: 'acme:a:fence',
      publish: [{ channel: 'acme:a:done', message: 'acme:a:lock' }],
      push: [{ key: 'acme:a:lock:wait', value: '1', ttlMs: 2_000 }],
      hold: { as: 'nothing' },
    });
  });

  test('does not claim another key, a hash without its field, or an owner of another form', () => {
    expect(own?.matches(hash('acme:a:cache', { holder: 'w/1/t' }))).toBeUndefined();
    expect(own?.matches(hash('acme:a:lock', { other: 'w/1/t' }))).toBeUndefined();
    expect(own?.matches(hash('acme:a:lock', { holder: 'w' }))).toBeUndefined();
  });

  test('folds its helpers, and is found by the capture in its key', () => {
    expect(own?.helperOf(parseText('acme:a:fence'))).toBe('acme:a:lock');
    expect(own?.helperOf(parseText('acme:a:lock:wait'))).toBe('acme:a:lock');
    expect(own?.helperOf(parseText('other:wait'))).toBeUndefined();
    expect(own?.keyOf?.(parseText('a'))).toBe('acme:a:lock');
    expect(own?.keyOf?.(parseText('acme:a:lock'))).toBe('acme:a:lock');
  });

  test('an owner in a JSON document is found by its path', () => {
    const [json] = load(`
  - name: acme-json
    system: redis
    type: string
    key: "l:<n>"
    owner: { json: lock.holder }
    never-release: "ask the team"
`).redis;
    const of = (value: string): RedisRecord => ({
      ...record,
      key: parseText('l:1'),
      type: 'string',
      value: parseText(value),
    });
    const holder = of('{"lock":{"holder":"9f31c0aa55e2417d8b3c7e10d2f4a6b8"}}');
    const decoded = json?.decode(holder);
    expect(decoded && valueOf(decoded.holders)?.[0]?.owner).toBe(
      '9f31c0aa55e2417d8b3c7e10d2f4a6b8',
    );
    expect(decoded?.weakOwner).toBe(false);
    expect(json?.matches(of('{"lock":{}}'))).toBeUndefined();
    expect(json?.matches(of('nothing'))).toBeUndefined();
    expect(decoded && json?.release(holder, decoded).forbidden).toBe('ask the team');
  });
});

describe('a convention of your own elsewhere', () => {
  test('on etcd it is one key, or a queue on leases, with the owner in its value', () => {
    const [key, queue] = load(`
  - { name: acme-key, system: etcd, type: key, key: "/acme/<n>", owner: { pattern: "<host>#<owner>" } }
  - { name: acme-queue, system: etcd, type: queue, key: "/q/<n>" }
`).etcd;
    const one = (name: string, value: string): EtcdKey => ({
      key: parseText(name),
      value: parseText(value),
      createRevision: 7n,
      modRevision: 7n,
      version: 1n,
      lease: 0x694d7a1b2c3d4e01n,
    });
    const single = { system: 'etcd', name: parseText('/acme/a') } as const;
    const held = { ...single, keys: [one('/acme/a', 'h#o')] };
    expect(key?.matches(held)).toBe('high');
    expect(key?.matches({ ...single, keys: [one('/acme/a', 'x')] })).toBeUndefined();
    expect(key?.decode(held).holders).toMatchObject({
      value: [{ owner: 'o', place: { value: { host: 'h' } } }],
    });
    const contender = one('/q/a/694d7a1b2c3d4e01', '');
    const queued = { system: 'etcd', name: parseText('/q/a'), keys: [contender] } as const;
    expect(queue?.layout).toBe('prefix');
    expect(queue?.matches(queued)).toBe('high');
    expect(queue?.decode(queued).holders).toMatchObject({ value: [{ owner: '694d7a1b2c3d4e01' }] });
  });

  test('on ZooKeeper it is one node, or sequential children whose names begin as it says', () => {
    const [queue] = load(`
  - { name: acme-zk, system: zookeeper, type: queue, key: "/acme/<n>", contender: "job-<host>-" }
`).zookeeper;
    expect(queue?.contender(parseText('job-h1-0000000007'))).toEqual({
      kind: 'exclusive',
      sequence: 7,
    });
    expect(queue?.contender(parseText('job-0000000007'))).toBeUndefined();
    expect(queue?.uniqueNames).toBe(false);
  });
});

describe('a file with errors is refused with line, column and what to do', () => {
  const head = '  - { name: a, system: redis, type: string, key: ';
  test.each([
    [`${head}"<x>" }`, '3:50: "<x>" fits every key', 'add text'],
    [`${head}"l:<x><y>" }`, '3:50: two captures touch', undefined],
    [`${head}"l:<key>" }`, '3:50: <key> is no name for a capture', 'choose another'],
    [`${head}"l", tipe: x }`, '3:55: unknown key "tipe"', 'did you mean "type"?'],
    [`${head}"l", owner: { field: f } }`, 'a string has no fields', 'type: hash'],
    [`${head}"l", grant: [f] }`, 'a string has no fields', 'leave it out'],
    [`${head}"l:<x>", fence: "f" }`, '<x> of the key is not in "f"', 'use every capture'],
    [`${head}"l:<x>", fence: "l:<x>" }`, 'it is the key of the lock itself', 'another key'],
    [`${head}"l:<x>", wake: [{ publish: "<y>" }] }`, '<y> is no capture of the key', '<x>, <key>'],
    [`${head}"l", wake: [{ message: m }] }`, 'either "publish" or "push"', 'for each'],
    [`${head}"l", wake: [{ push: p, message: m }] }`, 'unknown key "message"', 'known: push'],
    [`${head}"l", owner: { pattern: "<hots>" } }`, '<hots> is not known here', '<host>'],
    ['  - { name: a, system: redis, type: hash, key: l }', 'needs the field', 'owner: { field'],
    ['  - { name: a, system: reddis, type: key, key: l }', '"reddis" is not possible', '"redis"'],
    ['  - { name: A b, system: etcd, type: key, key: l }', 'a name has lower-case', undefined],
    ['  - { name: plain, system: etcd, type: key, key: l }', 'is a built-in', 'another name'],
    ['  - { name: z, system: zookeeper, type: node, key: l }', 'is no path', 'begin with /'],
    ['  - { name: z, system: zookeeper, type: queue, key: /l }', 'names of its contenders', 'job-'],
  ])('%s', (body, message, hint) => {
    const refused = refusal(body);
    expect(refused.message).toContain('c.yaml:3:');
    expect(refused.message).toContain(message);
    if (hint !== undefined) expect(refused.hint).toContain(hint);
  });

  test('several errors come together, in the order of their lines', () => {
    const { message, hint } = refusal(`
  - { name: a, system: etcd, type: key, key: l }
  - { name: a, system: etcd, type: key, key: m }
  - { name: b, system: etcd, type: kee, key: "<" }
`);
    expect(message.split('\n').map((line) => /c\.yaml:(\d+)/.exec(line)?.[1])).toEqual([
      '5',
      '6',
      '6',
    ]);
    expect(hint).toBe('3 errors; nothing was asked');
  });
});

test('the example in the README is one that works', () => {
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
  const [, example = ''] = /```yaml\nversion: 1\nconventions:\n([^]*?)```/.exec(readme) ?? [];
  const { redis, etcd, zookeeper } = load(example);
  expect([...redis, ...etcd, ...zookeeper].map(({ id }) => id)).toEqual([
    'acme-job',
    'acme-leader',
    'acme-zk',
  ]);
});

test.each(['etcd', 'zookeeper'] as const)(
  'every built-in convention on %s says what it recognises',
  (system) => {
    for (const one of builtInConventions[system]) expect(one.recognises, one.id).toBeDefined();
  },
);

test('no convention of your own throws on arbitrary records', () => {
  const { redis, etcd, zookeeper } = load(`${acme}
  - { name: j, system: redis, type: string, key: "<a>:<b>", owner: { json: a.b, pattern: "<pid>-<any>" } }
  - { name: e, system: etcd, type: queue, key: "<a>/<b>" }
  - { name: z, system: zookeeper, type: queue, key: "/<a>", contender: "x" }
  - { name: node-1, system: zookeeper, type: node, key: "/<a>" }
`);
  const text = fc.uint8Array({ maxLength: 30 }).map(bytesToText);
  fc.assert(
    fc.property(text, text, text, fc.bigInt({ min: 0n, max: 9n }), (name, value, field, number) => {
      for (const one of redis) {
        const record: RedisRecord = {
          ...hash('k', {}),
          key: name,
          value,
          fields: new Map([[field, value]]),
        };
        one.matches(record);
        one.release(record, one.decode(record));
        one.helperOf(name);
      }
      const key = { key: name, value, createRevision: number, modRevision: number, version: 1n };
      for (const one of etcd) {
        const record = { system: 'etcd', name, keys: [{ ...key, lease: number }] } as const;
        one.matches(record);
        one.decode(record);
      }
      const node = { name, data: value, czxid: number, version: 0, ephemeralOwner: number };
      for (const one of zookeeper) {
        const path = parseText(`/${name}`);
        const record = { system: 'zookeeper', path, node, cversion: 1, children: [node] } as const;
        one.matches(record);
        one.decode(record);
        one.decode({ ...record, children: [] });
      }
    }),
  );
});
