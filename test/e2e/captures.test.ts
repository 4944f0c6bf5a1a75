import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fencepost } from '../helpers/fencepost.ts';
import { redisDo } from '../helpers/redis.ts';
import { useLab } from '../helpers/servers.ts';

const redis = useLab({ system: 'redis' });
let folder = '';
let before = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fencepost-captures-'));
  before = join(folder, 'before.jsonl');
  await redisDo(
    redis,
    ['SET', 'lock:import', 'pod-1-9f31c0a7d2e84b5f'],
    ['SET', 'lock:export', 'pod-4-0c5be2a7d2e84b5f', 'PX', '900000'],
    ['SET', 'sku:12', 'no lock'],
  );
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('a listing kept in a file', () => {
  test('is listed as usual, saved for its owner only, and never replaces a file unasked', async () => {
    const live = redis.target.replace('redis://', 'redis://:hunter2@');
    const saved = await fencepost(['ls', '--target', live, '--save', before, '-o', 'name']);
    expect(saved).toMatchObject({ code: 0 });
    expect(saved.stdout.trimEnd().split('\n').sort()).toEqual(['lock:export', 'lock:import']);
    expect(saved.stderr).toContain(`saved 2 locks to ${before}`);
    expect((await stat(before)).mode & 0o777).toBe(0o600);
    expect(await readFile(before, 'utf8')).not.toContain('hunter2');
    const again = await fencepost(['ls', '--target', redis.target, '--save', before]);
    expect(again).toMatchObject({ code: 2, stdout: '' });
    expect(again.stderr).toContain('is there already');
  });

  test('is read without a target in every form, and says what it is and how old', async () => {
    const environment = { FENCEPOST_TARGET: 'redis://127.0.0.1:1' };
    const table = await fencepost(['ls', 'lock:i*', '--from', before], environment);
    expect(table.code).toBe(0);
    expect(table.stdout).toMatch(/^NAME .*\nlock:import +NO-TTL +pod-1-9f31c0a7d2e84b5f +never /);
    expect(table.stderr).toMatch(
      /^capture of redis:\/\/\S+ \(Redis \S+\), taken \S+ \S+ UTC, \S+ ago, by fencepost /,
    );
    const lines = await fencepost(['ls', '--from', before, '--state', 'no-ttl', '-o', 'jsonl']);
    expect(JSON.parse(lines.stdout)).toMatchObject({
      name: 'lock:import',
      capturedAt: expect.stringMatching(/Z$/) as string,
    });
    const json = await fencepost(['ls', '--from', before, '-o', 'json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      schemaVersion: 1,
      capture: { targets: [{ backend: 'redis' }] },
      summary: { locks: 2, others: 1 },
    });
  });

  test('refuses what only a target understands, and half a file', async () => {
    const rate = await fencepost(['ls', '--from', before, '--rate', '5']);
    expect(rate).toMatchObject({ code: 2, stdout: '' });
    const half = await fencepost(['ls', '--from', before, '--target', redis.target]);
    expect(half.stderr).toContain('--target is for a target, and --from reads a file');
    const part = ['--save', join(folder, 'part.jsonl'), '--limit', '1'];
    const limited = await fencepost(['ls', '--target', redis.target, ...part]);
    expect(limited.stderr).toContain('--limit would leave locks out of the capture');
  });
});

describe('what changed hands since a capture', () => {
  test('is told with the owners, live and between two captures', async () => {
    const after = join(folder, 'after.jsonl');
    await redisDo(
      redis,
      ['SET', 'lock:import', 'pod-2-aa31c0a7d2e84b5f'],
      ['DEL', 'lock:export'],
      ['SET', 'lock:new', 'pod-3-bb31c0a7d2e84b5f', 'PX', '900000'],
    );
    const live = await fencepost(['ls', '--target', redis.target, '--diff', before]);
    expect(live.code).toBe(0);
    expect(live.stdout).toMatch(
      /lock:import +handed-over +pod-1-9f31c0a7d2e84b5f → pod-2-aa31c0a7d2e84b5f$/m,
    );
    expect(live.stdout).toMatch(/lock:export +freed +pod-4-0c5be2a7d2e84b5f → nobody$/m);
    expect(live.stdout).toMatch(/lock:new +taken +nobody → pod-3-bb31c0a7d2e84b5f$/m);
    expect(live.stderr).toMatch(/^since the capture of .*\n3 changed · 2 there\n$/);
    await fencepost(['ls', '--target', redis.target, '--save', after]);
    const offline = await fencepost(
      ['ls', 'lock:i*', '--from', after, '--diff', before, '-o', 'json'],
      { FENCEPOST_TARGET: 'redis://127.0.0.1:1' },
    );
    const sentence = 'pod-1-9f31c0a7d2e84b5f → pod-2-aa31c0a7d2e84b5f';
    expect(JSON.parse(offline.stdout)).toMatchObject({
      schemaVersion: 1,
      changes: [{ name: 'lock:import', change: 'handed-over', sentence }],
    });
  });

  test('nothing is an answer too', async () => {
    const same = await fencepost(['ls', '--from', before, '--diff', before]);
    expect(same).toMatchObject({ code: 0, stdout: '' });
    expect(same.stderr).toContain('0 changed · 2 there');
  });
});
