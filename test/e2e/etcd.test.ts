/** `ls`, `show` and `release` on etcd, as they are typed. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Etcd3 } from 'etcd3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parseText } from '../../src/domain/text.ts';
import { countingRelay, type CountingRelay } from '../contract/etcd/etcd-relay.ts';
import {
  addUser,
  bytes,
  enableUsers,
  enter,
  hex,
  rawEtcd,
  valueAt,
  type EtcdGrant,
} from '../contract/etcd/etcd-seeder.ts';
import { fencepost, type Ran } from '../helpers/fencepost.ts';
import { useLab } from '../helpers/servers.ts';

const lab = useLab({ system: 'etcd' });
const name = '/locks/build';
/** What no terminal may get from a server: controls but the line break, and turned writing. */
const unsafe = /[^\P{Cc}\n]|\u202e/u;
let raw: Etcd3;
let folder = '';

beforeAll(() => {
  raw = rawEtcd(lab.target);
});
beforeEach(async () => {
  await raw.delete().all();
  folder = await mkdtemp(join(tmpdir(), 'fencepost-etcd-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));
afterAll(() => {
  raw.close();
});

function run(...args: readonly string[]): Promise<Ran> {
  return fencepost(args, { FENCEPOST_TARGET: lab.target, XDG_STATE_HOME: folder });
}

function show(...more: readonly string[]): Promise<Ran> {
  return run('show', name, '--observe', 'off', ...more);
}

/** Three contenders: `a` holds, `b` and `c` wait. */
async function queue(): Promise<readonly [a: EtcdGrant, b: EtcdGrant, c: EtcdGrant]> {
  const first = await enter(raw, parseText(name), 'worker-a', 300);
  const second = await enter(raw, parseText(name), 'worker-b', 300);
  return [first, second, await enter(raw, parseText(name), 'worker-c', 300)];
}

describe('ls and show', () => {
  test('show has the waiters in order, each with its record and what is left of its lease', async () => {
    const [a, b, c] = await queue();
    const { code, stdout } = await show();
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\/locks\/build +HELD .*owner worker-a$/m);
    expect(stdout).toMatch(/lease +lease [0-9a-f]+, (?:4m\d\ds|5m) left of 5m/);
    const rows = stdout.split('\n').filter((line) => /worker-[bc]/.test(line));
    for (const [at, { key }] of [b, c].entries()) {
      expect(rows[at]).toMatch(
        new RegExp(`${at + 1} +worker-${'bc'[at] ?? ''} +${key} +(4m\\d\\ds|5m) +since revision`),
      );
    }
    expect(stdout).toContain(`record ${a.key}`);
    expect(stdout).toContain('Next: plan its release');
  });

  test('ls -o json has the same facts, with 64-bit numbers as text', async () => {
    const [a] = await queue();
    const { code, stdout } = await run('ls', '/locks/*', '-o', 'jsonl');
    expect(code).toBe(0);
    const [row] = stdout.trimEnd().split('\n');
    const revision = (await raw.kv.range({ key: bytes(a.key) })).kvs[0]?.create_revision;
    expect(JSON.parse(row ?? '')).toMatchObject({
      name,
      state: 'held',
      fence: { kind: 'token', token: revision, source: 'create-revision' },
      lease: { kind: 'ttl', id: hex(a.lease) },
      waiters: { kind: 'exact', list: [{ owner: 'worker-b' }, { owner: 'worker-c' }] },
    });
  });

  test('hostile names and owners are escaped, and the printed name shows the same lock', async () => {
    const key = Buffer.from('/locks/\u001b[2J\u202elock\n\\');
    await raw.kv.put({ key, value: Buffer.concat([Buffer.from('\u0007x\r'), Buffer.of(0xff)]) });
    for (const output of ['table', 'wide', 'json', 'jsonl', 'name']) {
      const { code, stdout, stderr } = await run('ls', '/locks/*', '-o', output);
      expect(code).toBe(0);
      expect(stdout + stderr).not.toMatch(unsafe);
    }
    const { stdout: printed } = await run('ls', '/locks/*', '-o', 'name');
    const shown = await run('show', printed.trimEnd(), '--observe', 'off');
    expect(shown.code).toBe(0);
    expect(shown.stdout).toContain('owner \\x07x\\r\\xff');
    expect(shown.stdout).not.toMatch(unsafe);
  });

  test('a lock that is not there, and a target that is not, have their exit codes', async () => {
    const none = await run('show', '/locks/none');
    expect([none.code, none.stdout]).toEqual([6, '']);
    const dead = await run('ls', '--target', 'etcd://127.0.0.1:1');
    expect([dead.code, dead.stdout]).toEqual([4, '']);
    expect(dead.stderr).toContain('connection refused');
    const path = await run('ls', '--target', `${lab.target}/prefix`);
    expect(path.code).toBe(2);
    expect(path.stderr).toContain('give the prefix to the command');
  });
});

describe('release', () => {
  const unwatched = ['--observe', 'off', '--override', 'no-renewal=test'];
  const overrides = [
    ...unwatched,
    '--override=owner-connection=test',
    '--override=session-may-hold-newer-grant=test',
  ];

  async function consent(): Promise<readonly string[]> {
    const { stdout } = await show('-o', 'json');
    const { expect: token } = z.object({ expect: z.string() }).parse(JSON.parse(stdout));
    return ['--execute', '--expect', token, '--confirm', name, '--verify', '300ms'];
  }

  async function auditLines(): Promise<readonly Record<string, unknown>[]> {
    const text = await readFile(join(folder, 'fencepost', 'releases.jsonl'), 'utf8');
    const line = z.record(z.string(), z.unknown());
    return text
      .trimEnd()
      .split('\n')
      .map((one) => line.parse(JSON.parse(one)));
  }

  test('a plan says what would go, on which condition, who is next and that the owner is not told', async () => {
    const [a] = await queue();
    const { stdout } = await run('release', name, ...unwatched);
    expect(stdout).toMatch(
      new RegExp(
        `^Would delete ${a.key} if it is still the key created at revision \\d+, unchanged since, on lease ${hex(a.lease)}\\.$`,
        'm',
      ),
    );
    expect(stdout).toContain('worker-b gets it at once (2 waiting)');
    expect(stdout).toMatch(/warning +the owner is not told: lease [0-9a-f]+ lives on/);
    const held = await run('release', name, ...unwatched, '--hold', '10m');
    expect(held.stdout).toContain(`Would replace ${a.key}`);
    expect(held.stdout).toContain('your hold keeps the queue out (2 waiting)');
    expect(held.stdout).toMatch(/warning +the fence stays \d+ under the hold/);
  });

  test('a release hands over to the next in line, with the floor in the output and in the log', async () => {
    const [a, b] = await queue();
    const plan = await run('release', name, ...overrides, '--fence-floor', '/fences/build');
    expect(plan.stdout).toMatch(/ok +floor \/fences\/build will be \d+ or more/);
    const done = await run(
      'release',
      name,
      ...overrides,
      '--fence-floor',
      '/fences/build',
      ...(await consent()),
    );
    expect([done.code, done.stderr]).toEqual([0, '']);
    const floor = (await valueAt(raw, parseText('/fences/build'))) ?? '';
    expect(done.stdout).toContain('taken-over-by worker-b');
    expect(done.stdout).toContain(`raised to ${floor} at /fences/build`);
    expect(await valueAt(raw, a.key)).toBeUndefined();
    expect(await valueAt(raw, b.key)).toBe('worker-b');
    const [intent, outcome] = await auditLines();
    expect(intent).toMatchObject({ kind: 'intent', fenceFloor: '/fences/build' });
    expect(outcome).toMatchObject({ outcome: 'taken-over-by', fenceRaisedTo: floor });
  });

  test.each(['/locks/build', '/locks/build/floor'])(
    'a fence floor at %s, under the lock itself, is refused',
    async (floor) => {
      await queue();
      const args = [...overrides, '--fence-floor', floor, ...(await consent())];
      const { code, stdout } = await run('release', name, ...args);
      expect(code).toBe(5);
      expect(stdout).toMatch(/REFUSED +fence +.*under the lock itself/);
      expect(await raw.getAll().prefix(`${name}/`).keys()).toHaveLength(3);
    },
  );

  describe('with the end of the session', () => {
    let relay: CountingRelay;
    beforeEach(async () => {
      relay = await countingRelay(lab.target);
    });
    afterEach(() => relay.close());

    test('it says what fell and that the owner is told', async () => {
      const [a] = await queue();
      await raw.kv.put({ key: Buffer.from('/service/a'), value: Buffer.from('x'), lease: a.lease });
      const plan = await run('release', name, ...overrides, '--end-session');
      expect(plan.code).toBe(5);
      expect(plan.stdout).toMatch(/REFUSED +blast-radius +with it falls another record: \/service/);
      expect(plan.stdout).toMatch(/^Then would revoke lease .* at present \/service\/a\.$/m);
      const all = [...overrides, '--override=blast-radius=test', '--end-session'];
      const done = await run('release', name, ...all, ...(await consent()));
      expect(done.code).toBe(0);
      expect(done.stdout).toMatch(
        /session +lease [0-9a-f]+ was revoked; with it fell \/service\/a/,
      );
      expect(done.stdout).toContain('its owner is told by the end of its session');
    });

    test('a key made after the transaction that falls too is exit code 1, and in the log', async () => {
      const [a] = await queue();
      relay.before('LeaseRevoke', () =>
        raw.kv.put({ key: Buffer.from('/newer/lock'), value: Buffer.from('x'), lease: a.lease }),
      );
      const args = [...overrides, '--end-session', '--target', relay.url, ...(await consent())];
      const done = await run('release', name, ...args);
      expect(done.code).toBe(1);
      expect(done.stdout).toMatch(/^foreign-removed/);
      expect(done.stdout).toContain('/newer/lock: a grant made after ours fell too');
      expect((await auditLines()).at(-1)).toMatchObject({
        outcome: 'foreign-removed',
        removed: ['/newer/lock'],
        session: { ended: { value: true } },
      });
    });
  });
});

describe('with users', () => {
  const secured = useLab({ system: 'etcd' });
  beforeAll(async () => {
    const plain = rawEtcd(secured.target);
    await addUser(
      plain,
      { name: 'op', password: 's3cretpw' },
      { permType: 'Readwrite', key: Buffer.from('/locks/'), range_end: Buffer.from('/locks0') },
    );
    await enter(plain, parseText(name), 'worker-a', 300);
    await enableUsers(plain, 'rootpw');
    plain.close();
  });

  test('a prefix is listed, everything is refused with that prefix named, and no password is shown', async () => {
    const target = secured.target.replace('etcd://', 'etcd://op@');
    const listing = (password: string, ...args: readonly string[]): Promise<Ran> =>
      fencepost(['ls', '--target', target, ...args], { FENCEPOST_PASSWORD: password });
    const some = await listing('s3cretpw', '/locks/*');
    expect([some.code, some.stdout]).toEqual([0, expect.stringContaining(name)]);
    const everything = await listing('s3cretpw');
    expect([everything.code, everything.stdout]).toEqual([4, '']);
    expect(everything.stderr).toContain('may not read the whole range (every key)');
    expect(everything.stderr).toContain('fencepost ls "/locks/*"');
    const wrong = await listing('wr0ngpw', '/locks/*');
    expect([wrong.code, wrong.stdout]).toEqual([4, '']);
    expect(wrong.stderr).toContain('refused the user name or password');
    const none = await listing('', '/locks/*');
    expect([none.code, none.stdout]).toEqual([4, '']);
    expect(none.stderr).toContain('none was given');
    for (const ran of [some, everything, wrong, none]) {
      expect(ran.stdout + ran.stderr).not.toMatch(/s3cretpw|wr0ngpw/);
    }
  });
});
