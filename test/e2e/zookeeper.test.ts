/** `ls`, `show`, `history` and `release` on ZooKeeper, as they are typed. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { RawZooKeeper } from '../contract/zookeeper/zookeeper-seeder.ts';
import { fencepost, type Ran } from '../helpers/fencepost.ts';
import { useLab } from '../helpers/servers.ts';

const lab = useLab({ system: 'zookeeper' });
const name = '/locks/build';
/** What no terminal may get from a server: controls but the line break, and turned writing. */
const unsafe = /[^\P{Cc}\n]|\u202e/u;
let first: RawZooKeeper;
let second: RawZooKeeper;
let folder = '';

beforeAll(async () => {
  first = await RawZooKeeper.open(lab.target);
  second = await RawZooKeeper.open(lab.target);
});
beforeEach(async () => {
  await first.removeAll();
  folder = await mkdtemp(join(tmpdir(), 'fencepost-zookeeper-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));
afterAll(async () => {
  await first.close();
  await second.close();
});

function run(...args: readonly string[]): Promise<Ran> {
  return fencepost(args, { FENCEPOST_TARGET: lab.target, XDG_STATE_HOME: folder });
}

function show(...more: readonly string[]): Promise<Ran> {
  return run('show', name, '--observe', 'off', ...more);
}

/** Two contenders as Curator names them: `worker-a` holds, `worker-b` watches it. */
async function queue(): Promise<readonly [a: string, b: string]> {
  await first.makePath(name);
  const enter = (session: RawZooKeeper, letter: string): Promise<string> => {
    const guid = `${letter.repeat(8)}-1111-4111-8111-${letter.repeat(12)}`;
    const path = `${name}/_c_${guid}-lock-`;
    return session.create(path, `worker-${letter}`, 'ephemeral-sequential');
  };
  const a = await enter(first, 'a');
  const b = await enter(second, 'b');
  await second.watch(a);
  return [a, b];
}

const hex = ({ sessionId }: RawZooKeeper): string => `0x${sessionId.toString(16)}`;
const nodeOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

describe('ls, show and history', () => {
  test('ls has the holder, the number of waiters and the fence, with 64-bit numbers as text', async () => {
    const [a] = await queue();
    const czxid = (await first.read(a))?.czxid.toString();
    const table = await run('ls');
    expect(table.code).toBe(0);
    expect(table.stdout).toMatch(
      new RegExp(`^/locks/build +held +worker-a +session +\\? +1 +${czxid ?? ''} `, 'm'),
    );
    const { stdout } = await run('ls', '/locks/*', '-o', 'jsonl');
    expect(JSON.parse(stdout)).toMatchObject({
      name,
      state: 'held',
      recognition: { convention: 'curator-mutex' },
      lease: { kind: 'session', sessionId: hex(first) },
      fence: { kind: 'token', token: czxid, source: 'czxid' },
      waiters: { kind: 'count', count: 1 },
    });
  });

  test('show has sessions in hexadecimal, client addresses, and who watches whom', async () => {
    const [a, b] = await queue();
    const { code, stdout } = await show();
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\/locks\/build +HELD +Curator mutex .*owner worker-a @127\.0\.0\.1:/m);
    expect(stdout).toMatch(new RegExp(`^ +lease +session ${hex(first)}, timeout 10s`, 'm'));
    expect(stdout).toMatch(
      new RegExp(`1 +worker-b +${nodeOf(b)} +session +127\\.0\\.0\\.1:\\d+ +${nodeOf(a)}$`, 'm'),
    );
    expect(stdout).toContain('Next: plan its release');
  });

  test('history has the present contenders and says that the server keeps no more', async () => {
    await queue();
    const { code, stdout, stderr } = await run('history', name);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\d+ +worker-a .* holding .*present contenders$/m);
    expect(stdout).toMatch(/^\? +worker-b .* waiting .*present contenders$/m);
    expect(stderr).toContain('ZooKeeper keeps no past holders');
    expect(stderr).toContain("its parent's children changed 2 times");
  });

  test('hostile names and owners are escaped, and the printed name shows the same lock', async () => {
    const parent = '/locks/a\u202elock\\n';
    await first.makePath(parent);
    await first.create(`${parent}/lock-`, '\u001b[2J\u0007x\r', 'ephemeral-sequential');
    for (const output of ['table', 'wide', 'json', 'jsonl', 'name']) {
      const { code, stdout, stderr } = await run('ls', '-o', output);
      expect(code).toBe(0);
      expect(stdout + stderr).not.toMatch(unsafe);
    }
    const { stdout: printed } = await run('ls', '-o', 'name');
    const shown = await run('show', printed.trimEnd(), '--observe', 'off');
    expect(shown.code).toBe(0);
    expect(shown.stdout).toContain('owner \\x1b[2J\\x07x\\r');
    expect(shown.stdout).not.toMatch(unsafe);
  });

  test('what is not there, cannot be reached or is no path has its exit code and prints no data', async () => {
    for (const [args, code, sentence] of [
      [['show', '/locks/none'], 6, '"/locks/none": no such lock'],
      [['ls', '--target', 'zk://127.0.0.1:1'], 4, 'connection refused'],
      [['show', 'locks'], 2, '"locks" is not a node path'],
      [['ls', '--target', 'zks://127.0.0.1:1'], 2, 'is not a target URL'],
    ] as const) {
      const ran = await run(...args);
      expect([ran.code, ran.stdout]).toEqual([code, '']);
      expect(ran.stderr).toContain(sentence);
    }
  });
});

describe('release', () => {
  const overrides = [
    ...['--observe', 'off', '--override', 'no-renewal=test'],
    ...['--override', 'owner-connection=test'],
  ];

  async function consent(): Promise<readonly string[]> {
    const { stdout } = await show('-o', 'json');
    const { expect: token } = z.object({ expect: z.string() }).parse(JSON.parse(stdout));
    return ['--execute', '--expect', token, '--confirm', name, '--verify', '300ms'];
  }

  async function auditLines(): Promise<readonly unknown[]> {
    const text = await readFile(join(folder, 'fencepost', 'releases.jsonl'), 'utf8');
    return text
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
  }

  test('a plan says what would go, on which condition, who is next and that the owner lives on', async () => {
    const [a] = await queue();
    const czxid = (await first.read(a))?.czxid.toString() ?? '';
    const { code, stdout } = await run('release', name, '--observe', 'off');
    expect(code).toBe(5);
    expect(stdout).toContain(`Would delete ${a} if its czxid is still ${czxid}, its parent’s is`);
    expect(stdout).toContain('worker-b gets it at once (1 waiting)');
    expect(stdout).toMatch(/REFUSED +owner-connection +connected from 127\.0\.0\.1:/);
    expect(stdout).toMatch(/warning +the owner is not told: its session lives on/);
    expect(await first.read(a)).toBeDefined();
  });

  test.each([
    [['--hold', '10m'], 'ZooKeeper cannot hold'],
    [['--end-session'], 'cannot be ended from here: closing it needs its password'],
    [['--fence-floor', '/floor'], 'ZooKeeper writes no fence floor'],
  ])('%j is refused for good, although everything else is granted', async (option, reason) => {
    const [a] = await queue();
    const all = [...overrides, '--override=session-may-hold-newer-grant=test', ...option];
    const { code, stdout } = await run('release', name, ...all, ...(await consent()));
    expect(code).toBe(5);
    expect(stdout).toContain(reason);
    expect(stdout).toContain('No override helps');
    expect(await first.read(a)).toBeDefined();
  });

  test('a release deletes that node alone, the next in line takes over, and the log has both', async () => {
    const [a, b] = await queue();
    const done = await run('release', name, ...overrides, ...(await consent()));
    expect([done.code, done.stderr]).toEqual([0, '']);
    expect(done.stdout).toMatch(/^taken-over-by worker-b/m);
    expect(await first.read(a)).toBeUndefined();
    expect(await second.read(b)).toMatchObject({ data: 'worker-b' });
    const [intent, outcome] = await auditLines();
    expect(intent).toMatchObject({ kind: 'intent' });
    expect(outcome).toMatchObject({ outcome: 'taken-over-by' });
  });

  test('by a token of a grant that is over it deletes nothing: exit code 6', async () => {
    const [a, b] = await queue();
    const allowed = await consent();
    await first.remove(a);
    const late = await run('release', name, ...overrides, ...allowed);
    expect(late.code).toBe(6);
    expect(late.stdout + late.stderr).toContain('nothing was deleted');
    expect(await second.read(b)).toBeDefined();
  });
});
