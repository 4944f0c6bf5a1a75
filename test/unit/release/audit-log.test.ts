import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AuditLog, auditLogFile } from '../../../src/release/audit-log.ts';
import { withFileLock } from '../../../src/release/file-lock.ts';

let folder = '';
let file = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fencepost-audit-'));
  file = join(folder, 'state', 'releases.jsonl');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const outcome = (lock: string, word = 'released') =>
  ({ kind: 'outcome', lock, clusterId: 'c1', outcome: word }) as const;

describe('the audit log', () => {
  test('each line has the hash of the line before, and its place in the day', async () => {
    const log = await AuditLog.open(file);
    const places = [
      await log.append({
        kind: 'intent',
        lock: 'a',
        clusterId: 'c1',
        fence: 9_007_199_254_740_993n,
      }),
      await log.append(outcome('a')),
    ];
    expect(places.map((place) => place.number)).toEqual([1, 2]);
    const [first = '', second = ''] = (await readFile(file, 'utf8')).split('\n');
    expect(JSON.parse(second)).toMatchObject({
      previous: createHash('sha256').update(first).digest('hex'),
    });
    expect(first).toContain('"fence":"9007199254740993"');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await AuditLog.open(file)).brokenAt).toBeUndefined();
  });

  test('many writers at once leave one whole chain', async () => {
    const logs = await Promise.all(Array.from({ length: 12 }, () => AuditLog.open(file)));
    const places = await Promise.all(
      logs.map((log, index) => log.append(outcome(`lock-${index}`))),
    );
    expect(new Set(places.map((place) => place.number)).size).toBe(12);
    expect((await AuditLog.open(file)).brokenAt).toBeUndefined();
  });

  test('an edited line is named, and appending goes on', async () => {
    const log = await AuditLog.open(file);
    for (const lock of ['a', 'b', 'c']) await log.append(outcome(lock));
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace('"lock":"a"', '"lock":"x"'));
    const edited = await AuditLog.open(file);
    expect(edited.brokenAt).toBe(2);
    await edited.append(outcome('d'));
    expect((await AuditLog.open(file)).brokenAt).toBe(2);
  });

  test('a line that a crash cut off spoils only itself', async () => {
    const log = await AuditLog.open(file);
    await log.append(outcome('a'));
    await writeFile(file, '{"at":"2026', { flag: 'a' });
    await log.append(outcome('b'));
    const reopened = await AuditLog.open(file);
    expect(reopened.brokenAt).toBe(2);
    expect(reopened.lastReleaseAgoMs('b', 'c1')).toBeLessThan(60_000);
  });

  test('remembers releases of this lock on this cluster, and attempts that deleted nothing not', async () => {
    const log = await AuditLog.open(file);
    await log.append(outcome('a'));
    await log.append(outcome('b', 'changed-hands'));
    await log.append(outcome('c', 'came-back'));
    const memory = await AuditLog.open(file);
    expect(memory.lastReleaseAgoMs('a', 'c1')).toBeGreaterThanOrEqual(0);
    expect(memory.lastReleaseAgoMs('a', 'c2')).toBeUndefined();
    expect(memory.lastReleaseAgoMs('b', 'c1')).toBeUndefined();
    expect(memory.lastReleaseAgoMs('c', 'c1')).toBeGreaterThanOrEqual(0);
  });

  test('a place that cannot be written is a problem with its path, not an error', async () => {
    await writeFile(join(folder, 'file'), '');
    const log = await AuditLog.open(join(folder, 'file', 'log'));
    expect(log.problem).toMatch(/file.*log: E/);
    await expect(log.append(outcome('a'))).rejects.toThrow();
  });

  test('its default place follows XDG_STATE_HOME, and an empty one is none', () => {
    expect(auditLogFile({ XDG_STATE_HOME: '/s' })).toBe('/s/fencepost/releases.jsonl');
    expect(auditLogFile({ XDG_STATE_HOME: '' })).toMatch(
      /\.local\/state\/fencepost\/releases\.jsonl$/,
    );
  });
});

describe('a lock file', () => {
  const lockFile = (): string => join(folder, 'some.lock');

  test('is given back when the work fails', async () => {
    const failing = withFileLock(lockFile(), () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    await expect(withFileLock(lockFile(), () => Promise.resolve(7))).resolves.toBe(7);
  });

  test('of a dead process is taken over at once', async () => {
    const dead = spawn(process.execPath, ['-e', '']);
    await new Promise((resolve) => dead.once('close', resolve));
    await writeFile(lockFile(), `${hostname()} ${dead.pid ?? 0}`);
    const started = performance.now();
    await withFileLock(lockFile(), () => Promise.resolve());
    expect(performance.now() - started).toBeLessThan(2_000);
  });

  test('of a living process is waited for, then told', async () => {
    await writeFile(lockFile(), `${hostname()} ${process.ppid}`);
    const waiting = withFileLock(lockFile(), () => Promise.resolve(), 100);
    await expect(waiting).rejects.toThrow('another process keeps');
  });

  test('that names nobody is left alone while it is young, and taken when it is old', async () => {
    await mkdir(folder, { recursive: true });
    await writeFile(lockFile(), '');
    await expect(withFileLock(lockFile(), () => Promise.resolve(), 100)).rejects.toThrow('keeps');
    await utimes(lockFile(), new Date(0), new Date(0));
    await withFileLock(lockFile(), () => Promise.resolve());
  });
});
