import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { listRecords, type LabRecord } from '../../src/lab/records.ts';
import { askRedis } from '../../src/lab/wire.ts';
import { openProcessReader } from '../../src/processes/process-evidence.ts';
import { fencepost, startFencepost, type Ran } from '../helpers/fencepost.ts';
import { until } from '../helpers/until.ts';

const reader = openProcessReader();
let state: string;

/** A state folder of our own: the labs of other tests are none of ours. */
beforeAll(() => {
  state = mkdtempSync(join(tmpdir(), 'fencepost-state-'));
});
afterAll(async () => {
  await lab('down', '--all');
  rmSync(state, { recursive: true });
});

function lab(...args: readonly string[]): Promise<Ran> {
  return fencepost(['lab', ...args], { XDG_STATE_HOME: state });
}

const startedShape = z.object({
  id: z.string(),
  target: z.string(),
  folder: z.string(),
  servers: z.array(z.object({ pid: z.number(), port: z.number() })),
});
const statusShape = z.object({
  schemaVersion: z.literal(1),
  labs: z.array(startedShape.extend({ state: z.string(), ageMs: z.number() })),
});

async function up(...args: readonly string[]): Promise<z.infer<typeof startedShape>> {
  const { stdout, stderr, code } = await lab('up', ...args, '-o', 'json');
  expect({ stderr, code }).toMatchObject({ code: 0 });
  return startedShape.parse(JSON.parse(stdout));
}

async function status(): Promise<z.infer<typeof statusShape>['labs']> {
  return statusShape.parse(JSON.parse((await lab('status', '-o', 'json')).stdout)).labs;
}

function records(): readonly LabRecord[] {
  return listRecords({ XDG_STATE_HOME: state });
}

async function runs(pid: number): Promise<boolean> {
  const facts = await reader.read(pid);
  return facts !== undefined && facts.state !== 'Z';
}

describe('fencepost lab up, status and down', () => {
  afterEach(async () => {
    await lab('down', '--all');
  });

  test('up prints the target URL alone on stdout, and the lab outlives the command', async () => {
    const { stdout, stderr, code } = await lab('up', 'redis');
    expect(code).toBe(0);
    const port = /^redis:\/\/127\.0\.0\.1:(\d+)\n$/.exec(stdout)?.[1];
    // What killed runs left behind is swept, and said, before.
    expect(stderr).toMatch(
      /^(fencepost: removed .*\n)*fencepost: lab redis-\w+ runs; stop it: fencepost lab down redis-\w+\n$/,
    );
    expect(await askRedis(Number(port), [['PING']])).toBe('+PONG\r\n');
  });

  test('several labs run side by side, and down stops one of them alone', async () => {
    const [one, two] = await Promise.all([up('redis'), up('redis', '--option', 'maxmemory=8mb')]);
    expect((await status()).map(({ id, state }) => [id, state]).sort()).toEqual(
      [
        [one.id, 'running'],
        [two.id, 'running'],
      ].sort(),
    );
    expect((await lab('down', one.id)).code).toBe(0);
    expect((await status()).map(({ id }) => id)).toEqual([two.id]);
    expect(await askRedis(two.servers[0]?.port ?? 0, [['PING']])).toBe('+PONG\r\n');
    expect(existsSync(one.folder)).toBe(false);
  });

  test('down without an id asks which one when several run', async () => {
    const labs = [await up('redis'), await up('redis')];
    const { stderr, code } = await lab('down');
    expect(code).toBe(2);
    for (const { id } of labs) expect(stderr).toContain(id);
  });

  test('a cluster of three is listed with its three processes, and down ends them all', async () => {
    const started = await up('etcd', '--members', '3');
    expect(started.servers).toHaveLength(3);
    expect(started.target.split(',')).toHaveLength(3);
    const table = (await lab('status')).stdout;
    expect(table).toContain(started.servers.map(({ pid }) => pid).join(','));
    expect((await lab('down')).stderr).toBe(`fencepost: stopped ${started.id}\n`);
    for (const { pid } of started.servers) expect(await runs(pid)).toBe(false);
  });

  test('a lab with a server killed by hand is told apart from one that is well', async () => {
    const started = await up('redis');
    process.kill(started.servers[0]?.pid ?? 0, 'SIGKILL');
    await until('the lab is stopped', async () => (await status())[0]?.state === 'stopped');
  });

  test('nothing to do is no error', async () => {
    for (const command of ['down', 'status']) {
      const { stdout, stderr, code } = await lab(command);
      expect({ stdout, code }).toEqual({ stdout: '', code: 0 });
      // Before it there may be what a killed run of another test left on this machine.
      expect(stderr).toMatch(/(?:^|\n)fencepost: no lab runs\n$/);
    }
  });

  test('down waits for a lab that is being started, and leaves nothing of it', async () => {
    const starting = startFencepost(['lab', 'up', 'redis', '-o', 'json'], {
      XDG_STATE_HOME: state,
    });
    await until('its record is there', () => records().length === 1);
    const { stderr } = await lab('down', '--all');
    const started = startedShape.parse(JSON.parse((await starting.ended).stdout));
    expect(stderr).toContain(`fencepost: stopped ${started.id}\n`);
    for (const { pid } of started.servers) expect(await runs(pid)).toBe(false);
    expect(existsSync(started.folder)).toBe(false);
    expect(records()).toEqual([]);
  });

  test('up killed while it starts leaves nothing once another lab command ran', async () => {
    const starting = startFencepost(['lab', 'up', 'zookeeper'], { XDG_STATE_HOME: state });
    await until('a server is noted down', () => records()[0]?.servers.length === 1);
    const [record] = records();
    starting.child.kill('SIGKILL');
    await starting.ended;
    expect(await status()).toEqual([]);
    expect(existsSync(record?.folder ?? '')).toBe(false);
    for (const { pid } of record?.servers ?? []) expect(await runs(pid)).toBe(false);
  });

  test('a lab whose state folder was removed is found by its own folder', async () => {
    const started = await up('redis');
    rmSync(join(state, 'fencepost'), { recursive: true });
    await lab('status');
    expect(existsSync(started.folder)).toBe(false);
    for (const { pid } of started.servers) expect(await runs(pid)).toBe(false);
  });

  test('a lab that runs under another state folder is left alone', async () => {
    const started = await up('redis');
    const elsewhere = mkdtempSync(join(tmpdir(), 'fencepost-state-'));
    await fencepost(['lab', 'down', '--all'], { XDG_STATE_HOME: elsewhere });
    rmSync(elsewhere, { recursive: true });
    expect((await status()).map(({ id, state }) => [id, state])).toEqual([[started.id, 'running']]);
  });

  test.each([
    [['up', 'reddis'], '"reddis" is nothing that the lab can start', 'did you mean redis?'],
    [['up', 'redis', '--members', '4'], 'a redis lab cannot have "4" members', '--members 1 or 3'],
    [['up', 'redis', '--option', 'x'], 'option "x" has no "="', 'write --option name=value'],
    [['install', 'etcdd'], '"etcdd" is nothing that the lab can install', 'did you mean etcd?'],
    [['down', 'redis-1'], 'there is no lab "redis-1"', 'fencepost lab status'],
    [
      ['down', 'redis-1', '--all'],
      '"redis-1" and --all exclude each other',
      'leave one of them out',
    ],
  ])('lab %j is refused in one sentence', async (args, sentence, hint) => {
    const { stdout, stderr, code } = await lab(...args);
    expect({ stdout, code }).toEqual({ stdout: '', code: 2 });
    expect(stderr).toContain(`fencepost: ${sentence}\n`);
    expect(stderr).toContain(hint);
  });

  test('install says which servers will be used, and is quick when all are there', async () => {
    const { stdout, stderr, code } = await lab('install', '-o', 'json');
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    const shape = z.object({
      servers: z.array(z.object({ name: z.string(), version: z.string(), from: z.string() })),
    });
    const { servers } = shape.parse(JSON.parse(stdout));
    expect(servers.map(({ name }) => name)).toEqual(['redis', 'etcd', 'zookeeper', 'java']);
    for (const { version } of servers) expect(version).toMatch(/^\d+\.\d+/);
  });

  test('without apt, install tells what to install and exits 4', async () => {
    const env = { XDG_CACHE_HOME: state, PATH: '/nowhere', JAVA_HOME: '', ZOOKEEPER_HOME: '' };
    const { stderr, code } = await fencepost(['lab', 'install', 'etcd'], env);
    expect(code).toBe(4);
    expect(stderr).toContain('fencepost: not found: etcd\n');
    expect(stderr).toContain('etcd on PATH');
  });
});

describe('a lab of a run that is killed', () => {
  const ownerShape = z.object({ id: z.string(), folder: z.string(), pids: z.array(z.number()) });
  const script = fileURLToPath(new URL('../fixtures/lab-owner.mjs', import.meta.url));

  async function startOwner(
    system: string,
    members: number,
  ): Promise<z.infer<typeof ownerShape> & { readonly child: ChildProcess }> {
    const child = spawn(process.execPath, [script, system, String(members)], {
      env: { ...process.env, XDG_STATE_HOME: state },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const line = await new Promise<string>((resolve, reject) => {
      child.stdout.setEncoding('utf8').once('data', resolve);
      child.once('exit', () => {
        reject(new Error('the owner ended early'));
      });
    });
    const owner = ownerShape.parse(JSON.parse(line));
    expect(await Promise.all(owner.pids.map(runs))).not.toContain(false);
    return { ...owner, child };
  }

  async function expectNothingLeft(owner: z.infer<typeof ownerShape>): Promise<void> {
    await until('the lab is removed', () => !existsSync(owner.folder));
    for (const pid of owner.pids) expect(await runs(pid)).toBe(false);
    expect((await status()).map(({ id }) => id)).not.toContain(owner.id);
  }

  test.each([
    ['redis', 1],
    ['zookeeper', 3],
  ])(
    'kill -9 leaves no server of %s ×%i, no stopped worker and no folder',
    async (system, members) => {
      const owner = await startOwner(system, members);
      owner.child.kill('SIGKILL');
      await expectNothingLeft(owner);
    },
  );

  test('with its reaper dead too, the next lab command cleans up', async () => {
    const owner = await startOwner('redis', 1);
    const record = join(state, 'fencepost', 'labs', `${owner.id}.json`);
    const reapers = findByArgument(record);
    expect(reapers).toHaveLength(1);
    for (const pid of reapers) process.kill(pid, 'SIGKILL');
    owner.child.kill('SIGKILL');
    await until('the owner is gone', async () => !(await runs(owner.child.pid ?? 0)));
    // Labs of other state folders are tidied as well: a command elsewhere may have been first.
    const left = existsSync(owner.folder);
    const { stderr } = await lab('status');
    const removed = `removed lab ${owner.id}, whose run is gone`;
    if (left && !stderr.includes(removed))
      await until('another removed it', () => !existsSync(record));
    await expectNothingLeft(owner);
  });

  test('it is removed although its record is gone, but not before the run is', async () => {
    const owner = await startOwner('redis', 1);
    rmSync(join(state, 'fencepost', 'labs', `${owner.id}.json`));
    await lab('down', '--all');
    expect(await Promise.all(owner.pids.map(runs))).not.toContain(false);
    owner.child.kill('SIGKILL');
    // By its reaper, or by a lab command where the record went before the reaper had read it.
    await until('the lab is removed', async () => (await status(), !existsSync(owner.folder)));
    await expectNothingLeft(owner);
  });

  test('its lab is left alone while it runs, by status and by down --all', async () => {
    const owner = await startOwner('redis', 1);
    expect((await lab('down', '--all')).stderr).toMatch(/fencepost: no lab runs\n$/);
    expect((await status()).map(({ id }) => id)).toEqual([owner.id]);
    owner.child.kill('SIGKILL');
    await expectNothingLeft(owner);
  });
});

/** Pids of processes with this argument on their command line. Bare machines have no ps. */
function findByArgument(argument: string): readonly number[] {
  if (process.platform !== 'linux') {
    const lines = execFileSync('ps', ['-Ao', 'pid=,args='], { encoding: 'utf8' }).split('\n');
    return lines.filter((line) => line.includes(argument)).map((line) => parseInt(line, 10));
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && argumentsOf(name).includes(argument))
    .map(Number);
}

function argumentsOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    // Ended in between.
    return [];
  }
}
