import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openCapture } from '../../../src/captures/read-capture.ts';
import { CaptureWriter } from '../../../src/captures/write-capture.ts';
import { known, unknown } from '../../../src/domain/known.ts';
import type { LockSnapshot } from '../../../src/domain/lock.ts';
import { parseText } from '../../../src/domain/text.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fencepost-capture-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const lock: LockSnapshot = {
  ref: { name: parseText('orders:42') },
  state: 'held',
  recognition: {
    convention: 'plain',
    title: 'plain string',
    confidence: 'low',
    candidates: [],
    forced: false,
  },
  mode: 'exclusive',
  holders: known([{ owner: parseText('pod-1'), place: unknown('random token'), holds: 1 }]),
  lease: { kind: 'ttl', ttlMs: 21_000, grantedMs: unknown('not kept') },
  waiters: { kind: 'exact', list: [{ position: 1, owner: undefined }] },
  fence: { kind: 'token', token: 9_223_372_036_854_775_807n, source: 'counter' },
  heldForMs: unknown('not kept'),
  helpers: [],
  notes: [{ code: 'shared', severity: 'warn', text: 'the owner value is shared' }],
  identity: undefined,
  server: { endpoint: '127.0.0.1:7001', role: known('primary') },
};

async function save(file: string, locks: readonly LockSnapshot[], replace = false): Promise<void> {
  const writer = await CaptureWriter.create(file, replace);
  try {
    writer.begin({
      takenAt: '2026-12-03T02:10:00.000Z',
      tool: 'fencepost 0.1.0',
      query: { lockPatterns: ['*lock*'], all: false },
      targets: [
        {
          display: 'redis://127.0.0.1:7001',
          backend: 'redis',
          version: known('Redis 7.0.15'),
          topology: unknown('NOPERM'),
          clusterId: known('3f9c'),
        },
      ],
    });
    for (const one of locks) await writer.lock(one, 0);
    await writer.finish([{ target: 0, read: 3, others: 1, hidden: 0, holes: [] }]);
  } finally {
    await writer.abandon();
  }
}

async function read(file: string): Promise<readonly LockSnapshot[]> {
  const capture = await openCapture(file);
  const locks: LockSnapshot[] = [];
  for await (const one of capture.locks) locks.push(one.lock);
  return locks;
}

describe('a capture', () => {
  test('gives back every lock as it was, 64-bit numbers and holes included', async () => {
    const file = join(folder, 'a.jsonl');
    await save(file, [lock, { ...lock, ref: { name: parseText('x\u001b[31m') } }]);
    const [first, second] = await read(file);
    expect(first).toEqual(lock);
    expect(second?.ref.name).toBe('x\\x1b[31m');
    expect(await readdir(folder)).toEqual(['a.jsonl']);
  });

  test('keeps what `show` prints of an identity, and nothing that a release compares', async () => {
    const file = join(folder, 'a.jsonl');
    const identity = { expect: 'r1.5be2c07d', record: '{"owner":"secret"}' };
    await save(file, [{ ...lock, identity: identity as LockSnapshot['identity'] }]);
    expect(await readFile(file, 'utf8')).not.toContain('secret');
    expect((await read(file))[0]?.identity?.expect).toBe('r1.5be2c07d');
  });

  test('replaces a file only when asked, and leaves no draft behind', async () => {
    const file = join(folder, 'a.jsonl');
    await save(file, [lock]);
    await expect(save(file, [])).rejects.toMatchObject({ code: 'capture-exists', exitCode: 2 });
    expect(await read(file)).toHaveLength(1);
    await save(file, [], true);
    expect(await read(file)).toHaveLength(0);
    expect(await readdir(folder)).toEqual(['a.jsonl']);
  });
});

describe('a file that is no whole capture is one sentence', () => {
  const damaged: readonly (readonly [string, string, (text: string) => string])[] = [
    ['empty', 'not-a-capture', () => ''],
    ['another program’s', 'not-a-capture', () => '{"locks":[]}\n'],
    ['cut at a line', 'capture-cut-off', (text) => text.split('\n').slice(0, 2).join('\n') + '\n'],
    ['cut within a line', 'capture-cut-off', (text) => text.slice(0, -20)],
    [
      'of a newer version',
      'bad-capture',
      (text) => text.replace('"schemaVersion":1', '"schemaVersion":2'),
    ],
    ['with a wrong state', 'bad-capture', (text) => text.replace('"held"', '"hacked"')],
    ['with a line taken out', 'bad-capture', (text) => text.replace(/\{"kind":"lock".*\n/, '')],
    ['two in one', 'bad-capture', (text) => text + text],
    ['with half a number', 'bad-capture', (text) => text.replace('"9223372036854775807"', '"9e3"')],
  ];

  test.each(damaged)('%s', async (_, code, damage) => {
    const file = join(folder, 'a.jsonl');
    await save(file, [lock, lock]);
    await writeFile(file, damage(await readFile(file, 'utf8')));
    await expect(read(file)).rejects.toMatchObject({ code, exitCode: 2 });
  });

  test('words of a hostile file are escaped before they are shown', async () => {
    const file = join(folder, 'a.jsonl');
    await save(file, [lock]);
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace('the owner value is shared', '\\u001b[2J\\u202eevil'));
    expect((await read(file))[0]?.notes[0]?.text).toBe('\\x1b[2J\\u{202e}evil');
  });
});
