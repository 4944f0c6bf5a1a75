import { spawn } from 'node:child_process';
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { briefly, checked, nextToken, token, useReleaseStage } from './release-stage.ts';

const stage = useReleaseStage();

describe('consent', () => {
  test('a wrong name, a missing name and a missing token each refuse, and nothing is deleted', async () => {
    await stage.raw.set('lock:job', token);
    const expected = await stage.expect('lock:job');
    const bound = ['--expect', expected, ...checked, '--execute'];
    const wrong = await stage.release('lock:job', ...bound, '--confirm', 'lock:jab');
    expect([wrong.code, wrong.stdout]).toEqual([
      5,
      expect.stringMatching(/REFUSED by name-confirmed/),
    ]);
    const missing = await stage.release('lock:job', ...bound);
    expect([missing.code, missing.stdout]).toEqual([5, expect.stringMatching(/add --confirm/)]);
    const unbound = await stage.release(
      'lock:job',
      ...checked,
      '--execute',
      '--confirm',
      'lock:job',
    );
    expect([unbound.code, unbound.stdout]).toEqual([
      5,
      expect.stringMatching(/REFUSED by same-grant/),
    ]);
    expect(await stage.raw.get('lock:job')).toBe(token);
  });

  test('piped input is no consent', async () => {
    await stage.raw.set('lock:job', token);
    const expected = await stage.expect('lock:job');
    const program = fileURLToPath(new URL('../../bin/fencepost.js', import.meta.url));
    const child = spawn(
      process.execPath,
      [program, 'release', 'lock:job', '--expect', expected, ...checked, '--execute'],
      {
        env: { ...process.env, FENCEPOST_TARGET: stage.lab.target },
        stdio: ['pipe', 'ignore', 'ignore'],
      },
    );
    child.stdin.end('lock:job\n');
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(code).toBe(5);
    expect(await stage.raw.get('lock:job')).toBe(token);
  });

  test('several names and patterns are usage errors', async () => {
    expect((await stage.release('lock:a', 'lock:b')).code).toBe(2);
    const pattern = await stage.release('lock:*');
    expect(pattern.code).toBe(2);
    expect(pattern.stderr).toContain('one lock is released at a time');
  });

  test('an override of no guard, or of a hard one, is a usage error before anything is asked', async () => {
    const dead = ['--target', 'redis://127.0.0.1:1'];
    const unknown = await stage.release('lock:job', ...dead, '--override', 'owner-conection=x');
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('did you mean "owner-connection"?');
    const hard = await stage.release('lock:job', ...dead, '--override', 'name-confirmed=x');
    expect(hard.code).toBe(2);
    expect(hard.stderr).toContain('these can: ');
    const silent = await stage.release('lock:job', ...dead, '--override', 'no-renewal');
    expect([silent.code, silent.stderr]).toEqual([
      2,
      expect.stringContaining('is not GUARD=REASON'),
    ]);
  });
});

describe('a lock that is not the one seen', () => {
  test('another grant than --expect names exits 6, and stays', async () => {
    await stage.raw.set('lock:job', token);
    const consent = await stage.consent('lock:job');
    await stage.raw.set('lock:job', nextToken);
    const text = await stage.release('lock:job', ...consent, ...checked);
    expect(text.code).toBe(6);
    expect(text.stderr).toContain('changed hands');
    expect(text.stderr).toContain('nothing was deleted');
    const json = await stage.release('lock:job', ...consent, ...checked, '-o', 'json');
    expect(json.code).toBe(6);
    expect(JSON.parse(json.stdout)).toMatchObject({ executed: false, outcome: 'changed-hands' });
    expect(await stage.raw.get('lock:job')).toBe(nextToken);
  });

  test('a token of another form is a slip of the hand, exits 2, and nothing is touched', async () => {
    await stage.raw.set('lock:job', token);
    const confirm = ['--confirm', 'lock:job', '--execute'];
    for (const slip of ['garbage', 'e1.2', '', 'r1.abcd.2', 'r1.\u001b[31m']) {
      const done = await stage.release('lock:job', '--expect', slip, ...confirm, ...checked);
      expect(done.code).toBe(2);
      expect(done.stderr).toContain('is not an expect token');
      expect(done.stderr).not.toContain('\u001b');
    }
    expect(await stage.raw.get('lock:job')).toBe(token);
  });

  test('one that is gone exits 6', async () => {
    await stage.raw.set('lock:job', token);
    const consent = await stage.consent('lock:job');
    await stage.raw.del('lock:job');
    const done = await stage.release('lock:job', ...consent, ...checked, '-o', 'json');
    expect(done.code).toBe(6);
    expect(done.stderr).toContain('already gone');
    expect(JSON.parse(done.stdout)).toMatchObject({ outcome: 'already-gone' });
  });
});

describe('what the audit log needs', () => {
  test('a log that cannot be written refuses, whatever is overridden', async () => {
    await stage.raw.set('lock:job', token);
    const consent = await stage.consent('lock:job');
    const file = `${stage.auditFile}.file`;
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, '');
    const log = ['--audit-log', `${file}/log.jsonl`];
    const done = await stage.release('lock:job', ...consent, ...checked, ...log);
    expect(done.code).toBe(5);
    expect(done.stdout).toMatch(/REFUSED +audit-record +the audit log cannot be written/);
    expect(await stage.raw.get('lock:job')).toBe(token);
  });

  test('a log that was edited is said to be broken, and still appended to, and made private', async () => {
    await stage.raw.set('lock:job', token);
    await mkdir(dirname(stage.auditFile), { recursive: true });
    await writeFile(stage.auditFile, '{"edited":true}\n{"cut');
    await chmod(stage.auditFile, 0o644);
    const consent = await stage.consent('lock:job');
    const done = await stage.release('lock:job', ...consent, ...checked, ...briefly);
    expect(done.code).toBe(0);
    expect(done.stderr).toContain('broken at line 1');
    const rows = (await readFile(stage.auditFile, 'utf8')).trimEnd().split('\n');
    expect(rows).toHaveLength(4);
    expect((await stat(stage.auditFile)).mode & 0o777).toBe(0o600);
  });
});

describe('what this target or account cannot do', () => {
  test('an account without scripts is told the permission it needs', async () => {
    await stage.raw.call(
      'ACL',
      'SETUSER',
      'reader',
      'on',
      '>pw',
      '~*',
      '&*',
      '+@read',
      '+info',
      '+role',
      '+time',
    );
    await stage.raw.set('lock:job', token);
    const expected = await stage.expect('lock:job');
    const target = stage.lab.target.replace('redis://', 'redis://reader:pw@');
    const plan = await stage.release('lock:job', '--target', target, '--expect', expected);
    expect(plan.code).toBe(5);
    expect(plan.stdout).toMatch(/REFUSED +account-may-release/);
    expect(plan.stdout).toContain('needs +eval');
    expect(plan.stdout + plan.stderr).not.toContain(':pw@');
  });

  test('a fence floor, and a session to end, are refused on Redis', async () => {
    await stage.raw.set('lock:job', token);
    const floor = await stage.release('lock:job', '--fence-floor', 'floor');
    expect([floor.code, floor.stdout]).toEqual([5, expect.stringMatching(/REFUSED +fence /)]);
    const session = await stage.release('lock:job', '--end-session');
    expect(session.code).toBe(5);
    expect(session.stdout).toMatch(/REFUSED +session-may-hold-newer-grant/);
    expect(session.stdout).toMatch(/REFUSED +account-may-release/);
  });
});
