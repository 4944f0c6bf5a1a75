import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { fencepost, inShell, onTerminal, type Ran } from '../helpers/fencepost.ts';
import { redisDo } from '../helpers/redis.ts';
import { useLab } from '../helpers/servers.ts';
import { deadPort } from '../helpers/tcp.ts';

const redis = useLab({ system: 'redis' });
const token = '9f31c0a7d2e84b5fa1c6';

beforeAll(async () => {
  await redisDo(
    redis,
    ['SET', 'lock:import', 'worker'],
    ['SET', 'lock:export', 'worker', 'PX', '900000'],
    ['SET', 'sku:12', '{"price":3}', 'PX', '600000'],
    ['RPUSH', 'queue:mail', 'a', 'b'],
    ['SET', 'lock:sku:12', token, 'PX', '600000'],
    ['HSET', 'invoice:close', '7d1b2c3d-0000-4000-8000-1234567890ab:31', '2'],
    ['PEXPIRE', 'invoice:close', '120000'],
  );
});

function ls(...args: readonly string[]): Promise<Ran> {
  return fencepost(['ls', '--target', redis.target, ...args]);
}

function rows({ stdout }: Ran): readonly (readonly string[])[] {
  const lines = stdout.trimEnd().split('\n');
  return lines.map((line) => line.split(/ {2,}/)).sort((a, b) => (String(a) < String(b) ? -1 : 1));
}

const lockShape = z.object({
  schemaVersion: z.literal(1),
  target: z.string(),
  name: z.string(),
  state: z.string(),
  lease: z.object({ kind: z.string(), ttlMs: z.number().optional() }),
  notes: z.array(z.object({ code: z.string(), text: z.string() })),
});

describe('what is a lock, and until when', () => {
  test('a lock without a TTL never expires, one with a TTL says when it frees itself', async () => {
    const ran = await ls('lock:*port', '--no-headers');
    expect(ran.code).toBe(0);
    const [exported, imported] = rows(ran);
    expect(exported?.slice(0, 4)).toEqual([
      'lock:export',
      'held',
      'worker',
      expect.stringMatching(/^1[45]m/),
    ]);
    expect(imported?.slice(0, 4)).toEqual(['lock:import', 'NO-TTL', 'worker', 'never']);
  });

  test('an owner value that several locks share is called a weak guard', async () => {
    const { stdout } = await ls('lock:import', '-o', 'wide');
    expect(stdout).toMatch(/a release guarded by it cannot tell one holder from the next/);
  });

  test('cache entries and lists are counted as other records, and shown on request', async () => {
    const { stdout, stderr } = await ls('-o', 'name');
    expect(stdout.trimEnd().split('\n').sort()).toEqual([
      'invoice:close',
      'lock:export',
      'lock:import',
      'lock:sku:12',
    ]);
    expect(stderr).toMatch(/^4 locks, \d+ needs? attention · 6 records read in \d+\.\d s/);
    expect(stderr).toContain('2 other records (--all)');
    const all = await ls('--all', '-o', 'name');
    expect(all.stdout.split('\n')).toEqual(expect.arrayContaining(['sku:12', 'queue:mail']));
  });

  test('--pattern names the plain strings that are locks', async () => {
    const { stdout } = await ls('--pattern', 'sku:*', '-o', 'name');
    expect(stdout.trimEnd().split('\n').sort()).toEqual(['invoice:close', 'sku:12']);
  });

  test('nothing found is said on stderr and is no error', async () => {
    const { stdout, stderr, code } = await ls('nothing:*');
    expect({ stdout, code }).toEqual({ stdout: '', code: 0 });
    expect(stderr).toMatch(/^no locks found · /);
  });

  test('--state and --limit narrow the listing, and the limit says that it cut', async () => {
    expect((await ls('--state', 'no-ttl', '-o', 'name')).stdout).toBe('lock:import\n');
    const cut = await ls('--limit', '2', '-o', 'name');
    expect(cut.stdout.trimEnd().split('\n')).toHaveLength(2);
    expect(cut.stderr).toContain('stopped at --limit: there may be more');
  });
});

describe('forms', () => {
  test('unknown, none, zero and not applicable are different words', async () => {
    const table = rows(await ls());
    const cells = (name: string): readonly string[] | undefined =>
      table.find((row) => row[0] === name)?.slice(4, 7);
    expect(cells('NAME')).toEqual(['HELD', 'WAITERS', 'FENCE']);
    expect(cells('invoice:close')).toEqual(['?', '0', 'none']);
    expect(cells('lock:sku:12')).toEqual(['?', '?', 'none']);
  });

  test('JSON lines hold one lock each, with a version', async () => {
    const { stdout } = await ls('-o', 'jsonl');
    const locks = stdout
      .trimEnd()
      .split('\n')
      .map((line) => lockShape.parse(JSON.parse(line)));
    expect(locks.map((lock) => lock.name).sort()).toEqual([
      'invoice:close',
      'lock:export',
      'lock:import',
      'lock:sku:12',
    ]);
    expect(locks.find((lock) => lock.name === 'lock:import')?.lease).toEqual({ kind: 'never' });
  });

  test('JSON is one document with a summary, also without any lock', async () => {
    const shape = z.object({
      schemaVersion: z.literal(1),
      locks: z.array(lockShape),
      summary: z.object({ locks: z.number(), others: z.number(), holes: z.array(z.string()) }),
    });
    const some = shape.parse(JSON.parse((await ls('-o', 'json')).stdout));
    expect(some.summary).toMatchObject({ locks: 4, others: 2 });
    const none = shape.parse(JSON.parse((await ls('nothing:*', '-o', 'json')).stdout));
    expect(none.locks).toEqual([]);
  });

  test('a pipe gets whole names and owners, a narrow terminal gets cut ones', async () => {
    const piped = await ls('lock:sku:12');
    expect(piped.stdout).toContain(token);
    const args = ['ls', 'lock:sku:12', '--target', redis.target];
    const { stdout } = await onTerminal(args, { columns: 60 });
    expect(stdout).not.toContain(token);
    expect(stdout).toContain('9f31c0a7…');
    const wide = stdout.split('\r\n').filter((line) => line.length > 70);
    expect(wide).toEqual([]);
  });

  test('colour is for terminals, and for those who force it', async () => {
    const escape = '\u001b[';
    const args = ['ls', '--target', redis.target];
    expect((await onTerminal(args)).stdout).toContain(`${escape}3`);
    expect((await onTerminal(args, { env: { NO_COLOR: '1' } })).stdout).not.toContain(`${escape}3`);
    expect((await onTerminal(['--no-color', ...args])).stdout).not.toContain(`${escape}3`);
    expect((await ls()).stdout).not.toContain(escape);
    expect((await fencepost(args, { FORCE_COLOR: '1' })).stdout).toContain(escape);
  });

  test('a reader that leaves early ends the listing quietly', async () => {
    const line = `fencepost ls --target ${redis.target} -o jsonl | head -1; echo "\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await inShell(line);
    const [lock, code] = stdout.trimEnd().split('\n');
    lockShape.parse(JSON.parse(lock ?? ''));
    expect(code).toBe('0');
    expect(stderr).not.toMatch(/EPIPE|Error/);
  });

  test('a reader that is gone before the first line ends it quietly, too', async () => {
    const line = `fencepost ls --target ${redis.target} | true; echo "\${PIPESTATUS[0]}"`;
    expect((await inShell(line)).stdout).toBe('0\n');
  });
});

describe('several targets', () => {
  test('are told apart, and one that fails does not hide the other', async () => {
    const dead = `redis://127.0.0.1:${await deadPort()}`;
    const { stdout, stderr, code } = await ls('lock:import', '--target', dead);
    expect(code).toBe(4);
    expect(stderr).toContain(`cannot reach ${dead}: connection refused`);
    expect(stdout).toMatch(/^TARGET +NAME /);
    expect(stdout).toContain(`${redis.target}  lock:import`);
    expect(stderr).toContain(`incomplete: nothing of ${dead}, or not all: reading it failed`);
  });

  test('stand in one table, each column at one place', async () => {
    const second = `${redis.target}/1`;
    await redisDo(redis, ['SELECT', '1'], ['SET', 'lock:a-rather-long-name', 'w', 'PX', '60000']);
    const { stdout } = await ls('lock:*', '--target', second);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(5);
    const at = lines[0]?.indexOf('STATE') ?? -1;
    for (const line of lines) expect(line.slice(at - 2, at + 1)).toMatch(/^ {2}\S/);
  });

  test('give names that can be told apart, each with its target and a tab', async () => {
    const second = `${redis.target}/1`;
    await redisDo(redis, ['SELECT', '1'], ['SET', 'lock:import', 'w', 'PX', '60000']);
    const { stdout } = await ls('lock:import', '--target', second, '-o', 'name');
    expect(stdout).toBe(`${redis.target}\tlock:import\n${second}\tlock:import\n`);
  });

  test('the environment may name them', async () => {
    const env = { FENCEPOST_TARGET: redis.target };
    expect((await fencepost(['ls', 'lock:import', '-o', 'name'], env)).stdout).toBe(
      'lock:import\n',
    );
  });
});
