import { spawn, type ChildProcess } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { listRecords } from '../../src/lab/records.ts';
import { openProcessReader } from '../../src/processes/process-evidence.ts';
import { fencepost, startFencepost, type Ran } from '../helpers/fencepost.ts';
import { inTime } from '../helpers/in-time.ts';
import { useLab } from '../helpers/servers.ts';
import { until } from '../helpers/until.ts';

const classic = fileURLToPath(
  new URL('../../scenarios/paused-holder-resumes.yaml', import.meta.url),
);
const program = fileURLToPath(new URL('../../bin/fencepost.js', import.meta.url));
const reader = openProcessReader();
let folder: string;
let env: Record<string, string>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fencepost-run-'));
  env = { XDG_STATE_HOME: join(folder, 'state') };
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function run(...args: readonly string[]): Promise<Ran> {
  return fencepost(['run', ...args], env);
}

/** A run says so when this machine could not keep up with its leases; then it is run again. */
function runInTime(...args: readonly string[]): Promise<Ran> {
  return inTime(() => run(...args));
}

describe('fencepost run with the classic scenario', () => {
  test('passes on throwaway servers: all held, every fault proven, both controls red', async () => {
    const out = join(folder, 'pass');
    const junit = join(folder, 'result.xml');
    const ran = await runInTime(classic, '--lab', '--seed', '7', '--out', out, '--junit', junit);
    expect(ran.code, ran.stdout).toBe(0);
    for (const line of [
      /^paused-holder-resumes: .* seed 7$/m,
      /A PAUSE +1 of 1 process in state T, \d\.\d s$/m,
      /A goes on +REFUSED stale-token, token 1$/m,
      /A releases +REFUSED not-owner$/m,
      /^ {2}no-stale-write-accepted +held$/m,
      /^ {2}takeover within lease \+ 2s +held$/m,
      /^ {2}control resource-accepts-any +went red$/m,
      /^ {2}control release-without-owner-check +went red$/m,
      /^every invariant as expected · every fault proven/m,
    ]) {
      expect(ran.stdout).toMatch(line);
    }
    expect(readFileSync(junit, 'utf8')).toContain('failures="0" errors="0"');
    const latest = join(out, 'latest');
    for (const name of ['run.json', 'plan.json', 'history.jsonl', 'faults.jsonl', 'junit.xml']) {
      expect(existsSync(join(latest, name)), name).toBe(true);
    }
    expect(readdirSync(join(folder, 'state', 'fencepost', 'journals'))).toEqual([]);

    const judged = await fencepost(['check', join(latest, 'history.jsonl'), '-o', 'json'], env);
    expect(judged.code, judged.stdout).toBe(0);
    const control = join(latest, 'control-resource-accepts-any', 'history.jsonl');
    expect(await fencepost(['check', control], env)).toMatchObject({ code: 1 });

    const again = await fencepost(['report', 'latest', '--out', out], env);
    expect(again).toMatchObject({ stdout: ran.stdout, code: 0 });
  });

  test('gives the same verdicts every time it is repeated', async () => {
    const ran = await runInTime(classic, '--lab', '--repeat', '3', '-o', 'json', '--out', folder);
    expect(ran.code, ran.stdout).toBe(0);
    const report = z
      .object({ cells: z.array(z.object({ main: z.object({ invariants: z.array(verdict) }) })) })
      .parse(JSON.parse(ran.stdout));
    const verdicts = report.cells.map(({ main }) => main.invariants);
    expect(verdicts).toHaveLength(3);
    for (const one of verdicts) expect(one).toEqual(verdicts[0]);
  });

  test.each([
    ['Redis, etcd and ZooKeeper', ['redis', 'etcd', 'zookeeper']],
    ['Redis Sentinel and Redlock', ['redis-sentinel', 'redlock']],
    ['Redis Cluster and WAIT', ['redis-cluster/redis-wait-fenced', 'redis-wait-fenced']],
  ])(
    'passes on %s, each with a control that went red',
    async (_, columns) => {
      const matrix = ['--matrix', columns.join(), '-o', 'json', '--out', folder];
      const ran = await runInTime(classic, '--lab', ...matrix);
      expect(ran.code, ran.stdout).toBe(0);
      const control = z.object({ result: z.string() });
      const cell = z.object({
        column: z.string(),
        main: z.object({
          folder: z.string(),
          invariants: z.array(verdict.extend({ reportOnly: z.boolean() })),
        }),
        controls: z.array(control),
      });
      const { cells } = z.object({ cells: z.array(cell) }).parse(JSON.parse(ran.stdout));
      expect(cells.map(({ column }) => column)).toEqual(columns);
      for (const { main, controls } of cells) {
        const named = main.invariants.filter(({ reportOnly }) => !reportOnly);
        expect(new Set(named.map((one) => one.verdict))).toEqual(new Set(['held']));
        expect(controls.map(({ result }) => result)).toContain('went-red');
      }
      for (const { main } of cells) expect(main.folder).not.toContain('/');
    },
    360_000,
  );

  test('cannot pass without its controls', async () => {
    const ran = await run(classic, '--lab', '--no-controls', '--out', folder);
    expect(ran.code).toBe(3);
    expect(ran.stdout).toContain('control resource-accepts-any was not run');
  });

  test('prints the plan with each undo and touches nothing on --dry-run', async () => {
    const out = join(folder, 'dry');
    const ran = await run(classic, '--lab', '--dry-run', '--seed', '7', '--out', out);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout).toMatch(/A-pause +A PAUSE .*undo: SIGCONT/);
    expect(existsSync(out)).toBe(false);
  });
});

const verdict = z.object({ invariant: z.string(), verdict: z.string() });

describe('fencepost run against a target of the user', () => {
  const server = useLab({ system: 'redis' });

  test('leaves no key behind', async () => {
    const ran = await runInTime(classic, '--target', server.target, '--out', folder);
    expect(ran.code, ran.stdout).toBe(0);
    const left = await fencepost(['ls', '--all', '--target', server.target, '-o', 'name'], env);
    expect(left.stdout).toBe('');
  });

  test('ends no differently when it is killed: the watchdog removes keys and workers', async () => {
    const { child, workers } = await startAndPause(['--target', server.target]);
    child.kill('SIGKILL');
    await until('every process of the run is gone', () => noneRuns(workers));
    await until('the journal is closed', () => journals().length === 0);
    const left = await fencepost(['ls', '--all', '--target', server.target, '-o', 'name'], env);
    expect(left.stdout).toBe('');
  });
});

describe('fencepost run that is interrupted', () => {
  test('undoes everything on Ctrl-C, pressed again and again, and exits 130', async () => {
    const { child, workers, ended } = await startAndPause(['--lab']);
    child.kill('SIGINT');
    const again = setInterval(() => child.kill('SIGINT'), 50);
    expect(
      await ended.finally(() => {
        clearInterval(again);
      }),
    ).toBe(130);
    expect(await noneRuns(workers)).toBe(true);
    expect(journals()).toEqual([]);
  });

  test('leaves no process and no journal when it is killed', async () => {
    const { child, workers } = await startAndPause(['--lab']);
    child.kill('SIGKILL');
    await until('every process of the run is gone', () => noneRuns(workers));
    await until('the journal is closed', () => journals().length === 0);
  });
});

describe('fencepost run that is killed', () => {
  test.each([
    ['before anything is done', '"kind":"run"'],
    ['when a resource starts', '"resource (pid'],
    ['when a worker starts', '"worker A (pid'],
    ['when a fault begins', 'stopped by SIGSTOP'],
  ])('%s leaves no process, no lab and nothing to undo after heal', async (_, mark) => {
    const state = mkdtempSync(join(folder, 'state-'));
    const own = { XDG_STATE_HOME: state };
    const journal = join(state, 'fencepost', 'journals');
    const { child, ended } = startFencepost(['run', classic, '--lab', '--out', folder], own);
    await until('the moment has come', () => textOfFiles(journal).includes(mark), 30_000);
    const labs = listRecords(own);
    child.kill('SIGKILL');
    await ended;
    await until('no process is left', () => processesWith(state).length === 0, 20_000);
    expect(await fencepost(['heal'], own)).toMatchObject({ code: 0 });
    expect(textOfFiles(journal)).toBe('');
    expect(listRecords(own)).toEqual([]);
    for (const lab of labs) {
      expect(existsSync(lab.folder)).toBe(false);
      expect(await noneRuns(lab.servers.map(({ pid }) => pid))).toBe(true);
    }
  });
});

/** What stands in the files of a folder; nothing when there is no folder. */
function textOfFiles(folder: string): string {
  if (!existsSync(folder)) return '';
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('');
}

/** Every process that inherited this state folder: the run, its workers, resources and watchdogs. */
function processesWith(state: string): readonly string[] {
  return readdirSync('/proc').filter(
    (pid) => /^\d+$/.test(pid) && environmentOf(pid).includes(state),
  );
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    // It ended while we looked, or is another user's.
    return '';
  }
}

describe('fencepost heal', () => {
  test('kills a stopped worker that a run left, and until then no run starts', async () => {
    const orphan = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
    const pid = orphan.pid ?? 0;
    const startTime = await until('it runs', async () => (await reader.read(pid))?.startTime);
    process.kill(pid, 'SIGSTOP');
    const undo = { type: 'kill-group', group: { pid, startTime } };
    const lines = [
      {
        kind: 'run',
        schemaVersion: 1,
        runId: 'old',
        owner: { pid: 999_999_999, startTime: '1' },
        startedAt: '2026-02-01T00:00:00.000Z',
      },
      { kind: 'will', id: 0, what: `worker A (pid ${pid})`, undo },
    ];
    const journalFolder = join(folder, 'state', 'fencepost', 'journals');
    mkdirSync(journalFolder, { recursive: true });
    const text = lines.map((line) => JSON.stringify(line)).join('\n');
    writeFileSync(join(journalFolder, 'old.jsonl'), `${text}\n{"kind":"wi`);

    const refused = await run(classic, '--lab', '--out', folder);
    expect(refused.code).toBe(7);
    expect(refused.stderr).toContain('fencepost heal');

    const healed = await fencepost(['heal'], env);
    expect(healed).toMatchObject({ code: 0, stdout: `old  undone  worker A (pid ${pid})\n` });
    await until('it is gone', () => noneRuns([pid]));
    expect(await fencepost(['heal'], env)).toMatchObject({ code: 0, stdout: '' });
  });
});

describe('fencepost run with input that cannot work', () => {
  test.each([
    { what: 'no servers', args: [classic], code: 2, says: 'a run needs servers' },
    {
      what: 'a missing file',
      args: ['/nowhere.yaml', '--lab'],
      code: 2,
      says: 'cannot read the scenario "/nowhere.yaml": ENOENT',
    },
    {
      what: 'an unknown column',
      args: [classic, '--lab', '--matrix', 'reddis'],
      code: 2,
      says: '"reddis" is not a column of the matrix',
    },
    {
      what: 'a dead server',
      args: [classic, '--target', 'redis://127.0.0.1:1'],
      code: 4,
      says: 'cannot connect to redis://127.0.0.1:1',
    },
  ])('says so for $what', async ({ args, code, says }) => {
    const ran = await run(...args, '--out', folder);
    expect(ran.code).toBe(code);
    expect(ran.stdout + ran.stderr).toContain(says);
    expect(ran.stderr).not.toContain('    at ');
  });
});

function journals(): readonly string[] {
  return readdirSync(join(folder, 'state', 'fencepost', 'journals'));
}

interface Started {
  readonly child: ChildProcess;
  /** Every process that the run started itself. */
  readonly workers: readonly number[];
  readonly ended: Promise<number | null>;
}

/** Starts the classic and returns once a worker of it is stopped. */
async function startAndPause(args: readonly string[]): Promise<Started> {
  const child = spawn(process.execPath, [program, 'run', classic, '--out', folder, ...args], {
    env: { ...process.env, ...env },
    stdio: 'ignore',
  });
  const ended = new Promise<number | null>((resolve) => {
    child.once('exit', resolve);
  });
  const workers = await until(
    'a worker is paused',
    async () => {
      const children = await childrenOf(child.pid ?? 0);
      const states = await Promise.all(children.map((pid) => reader.read(pid)));
      return states.some((facts) => facts?.state === 'T') ? children : undefined;
    },
    30_000,
  );
  return { child, workers, ended };
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const found: number[] = [];
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const status = await readStatus(name);
    if (status.includes(`\nPPid:\t${pid}\n`)) found.push(Number(name));
  }
  return found;
}

function readStatus(pid: string): Promise<string> {
  try {
    return Promise.resolve(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    // It ended while we looked.
    return Promise.resolve('');
  }
}

async function noneRuns(pids: readonly number[]): Promise<boolean> {
  const facts = await Promise.all(pids.map((pid) => reader.read(pid)));
  return facts.every((one) => one === undefined || one.state === 'Z');
}
