/** Own conventions on the command line: listed, completed, used, and refused with line and column. */
import { mkdtemp, rm, writeFile, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rawRedis } from '../contract/redis/redis-seeder.ts';
import { fencepost } from '../helpers/fencepost.ts';
import { useLab } from '../helpers/servers.ts';

const text = `version: 1
conventions:
  - name: acme-job
    title: Acme job lock
    system: redis
    type: string
    key: "acme:<name>"
    owner: { pattern: "<host>|<owner>" }
    wake:
      - publish: "acme-done:<name>"
`;
let folder = '';
let file = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fencepost-conventions-'));
  file = join(folder, 'mine.yaml');
  await writeFile(file, text);
  await mkdir(join(folder, 'fencepost'));
  await writeFile(join(folder, 'fencepost', 'conventions.yaml'), text);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the list of conventions', () => {
  test('has a team’s own before the built-in ones, with what they recognise and wake', async () => {
    const { stdout, code } = await fencepost(['conventions', '--conventions', file]);
    expect(code).toBe(0);
    const [heading, first] = stdout.split('\n');
    expect(heading).toMatch(/^CONVENTION +SYSTEM +RECOGNISES +WAKES$/);
    expect(first).toMatch(
      /^acme-job \(own\) +redis +string acme:<name> +PUBLISH acme-done:<name>$/,
    );
    expect(stdout).toMatch(/patroni +etcd .*never released/);
  });

  test('is JSON for programs, and can be restricted to one system', async () => {
    const args = ['conventions', '--system', 'etcd', '-o', 'json'];
    const { stdout } = await fencepost(args, { FENCEPOST_CONVENTIONS: file });
    const { conventions } = JSON.parse(stdout) as { conventions: { system: string }[] };
    expect(new Set(conventions.map(({ system }) => system))).toEqual(new Set(['etcd']));
  });

  test('the usual place is read without being named, and completion offers what is in it', async () => {
    const env = { XDG_CONFIG_HOME: folder };
    expect((await fencepost(['conventions', '-o', 'name'], env)).stdout).toMatch(/^acme-job\n/);
    const completed = await fencepost(['__complete', '--', 'show', '--convention', 'acme'], env);
    expect(completed.stdout).toBe('acme-job\tAcme job lock\n');
  });
});

describe('a file that cannot be used', () => {
  test('is told with line, column and what to do, and nothing is asked', async () => {
    const bad = join(folder, 'bad.yaml');
    await writeFile(bad, text.replace('type: string', 'type: strin'));
    const { stderr, code } = await fencepost([
      'ls',
      '--target',
      'redis://127.0.0.1:1',
      '--conventions',
      bad,
    ]);
    expect(code).toBe(2);
    expect(stderr).toContain(`${bad}:6:11: "strin" is not possible here`);
    expect(stderr).toContain('did you mean "string"?');
  });

  test('is told when it is not there, named by flag or environment', async () => {
    const missing = join(folder, 'none.yaml');
    for (const ran of [
      await fencepost(['conventions', '--conventions', missing]),
      await fencepost(['conventions'], { FENCEPOST_CONVENTIONS: missing }),
    ]) {
      expect(ran.code).toBe(2);
      expect(ran.stderr).toContain(`cannot read the conventions file "${missing}": ENOENT`);
    }
  });
});

describe('on a server', () => {
  const lab = useLab({ system: 'redis' });
  let raw: Redis;
  const on = (...args: readonly string[]): ReturnType<typeof fencepost> =>
    fencepost([...args, '--target', lab.target, '--conventions', file]);

  beforeAll(async () => {
    raw = rawRedis(lab.target);
    await raw.set('acme:a', 'web-1|9f31c0aa55e2417d8b3c7e10d2f4a6b8', 'PX', 600_000);
    await raw.set('lock:b', '2b77e1d09c4f4a1e9a5d3c6b8f0e1d2c', 'PX', 600_000);
  });
  afterAll(() => {
    raw.disconnect();
  });

  test('ls shows the lock, and --convention takes several names', async () => {
    expect((await on('ls', '-o', 'name')).stdout.trimEnd().split('\n').sort()).toEqual([
      'acme:a',
      'lock:b',
    ]);
    expect((await on('ls', '-o', 'name', '--convention', 'acme-job,redlock-net')).stdout).toBe(
      'acme:a\n',
    );
    const wrong = await on('ls', '--convention', 'acme-jbo');
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toContain('did you mean "acme-job"?');
  });

  test('show reads it, names the file in the next command, and history and release take it', async () => {
    const shown = await on('show', 'acme:a', '--observe', 'off');
    expect(shown.stdout).toMatch(/Acme job lock \(high confidence\) .*owner 9f31c0aa/);
    expect(shown.stdout).toContain(`--conventions ${file}`);
    const history = await on('history', 'a', '--convention', 'acme-job', '-o', 'jsonl');
    expect(history.stdout).toContain('"owner"');
    const plan = await on('release', 'acme:a', '--observe', 'off');
    expect(plan.stdout).toContain('PUBLISH acme-done:a');
  });

  test.each(['show', 'history', 'release'])(
    '%s refuses a convention that nobody knows',
    async (command) => {
      const { code, stderr } = await on(command, 'acme:a', '--convention', 'redison');
      expect(code).toBe(2);
      expect(stderr).toContain('"redison" is no lock layout that is known on Redis');
      expect(stderr).toContain('did you mean "redisson"?');
    },
  );
});
