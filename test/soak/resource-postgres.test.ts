/** The business side on a real PostgreSQL: its contract, and whole runs on it. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fencepost, program } from '../helpers/fencepost.ts';
import { rowsOf, startPostgres } from '../helpers/postgres.ts';
import { useLab } from '../helpers/servers.ts';
import { until } from '../helpers/until.ts';
import { describeResource } from '../contract/resource.contract.ts';

const classic = fileURLToPath(
  new URL('../../scenarios/paused-holder-resumes.yaml', import.meta.url),
);
const postgres = await startPostgres();
afterAll(() => postgres.stop());

describeResource('PostgreSQL', postgres.url);

describe('fencepost run with a PostgreSQL of the user', () => {
  const redis = useLab({ system: 'redis' });
  let folder: string;
  let env: Record<string, string>;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'fencepost-run-'));
    env = { XDG_STATE_HOME: join(folder, 'state') };
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  const schemas = (): Promise<readonly unknown[]> =>
    rowsOf(postgres.url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'fencepost%'");
  const journals = (): readonly string[] =>
    readdirSync(join(folder, 'state', 'fencepost', 'journals'));

  test('passes, leaves no schema, and writes its password nowhere', async () => {
    const out = join(folder, 'out');
    const ran = await fencepost(
      ['run', classic, '--lab', '--resource', postgres.url, '--out', out],
      env,
    );
    expect(ran).toMatchObject({ code: 0 });
    expect(await schemas()).toEqual([]);
    const written = readdirSync(join(out, 'latest'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
    for (const text of [...written, ran.stdout, ran.stderr]) {
      expect(text).not.toContain(postgres.password);
      expect(text).not.toContain(encodeURIComponent(postgres.password));
    }
  });

  test.each([
    ['as it is', 'SIGKILL'],
    ['while its resource is stopped', 'SIGSTOP'],
  ] as const)('leaves no schema when it is killed %s', async (_, first) => {
    const child = spawn(
      process.execPath,
      [program, 'run', classic, '--target', redis.target, '--out', folder],
      { env: { ...process.env, ...env, FENCEPOST_RESOURCE: postgres.url }, stdio: 'ignore' },
    );
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await until('a schema is there', async () => (await schemas()).length > 0, 30_000);
    const resources = await until('the resources serve', () => {
      const pids = resourcesOf(
        journals().map((name) => join(folder, 'state/fencepost/journals', name)),
      );
      return pids.length > 0 && pids;
    });
    for (const pid of resources) if (first === 'SIGSTOP') process.kill(pid, first);
    child.kill('SIGKILL');
    await ended;
    await until('the journal is closed', () => journals().length === 0, 30_000);
    expect(await schemas()).toEqual([]);
  });

  test('says what is wrong with a URL, and tells no password', async () => {
    const refused = [
      ['mysql://me:secret@host/db', 'is not the URL of a PostgreSQL database', 2],
      ['postgres://me:sec/ret@host/db', 'is not the URL of a PostgreSQL database', 2],
      [postgres.url.replace(/:[^:@]*@/, ':secret@'), 'password authentication failed', 4],
      [postgres.url.replace(/@.*/, '@127.0.0.1:1/postgres'), 'ECONNREFUSED', 4],
    ] as const;
    for (const [url, says, code] of refused) {
      const args = ['run', classic, '--lab', '--resource', url, '--out', folder];
      const ran = await fencepost(args, env);
      expect(ran.code).toBe(code);
      expect(ran.stdout + ran.stderr).toContain(says);
      expect(ran.stdout + ran.stderr).not.toMatch(/secret|sec\/ret/);
    }
  });
});

/** Pids of the resource processes that journals name. */
function resourcesOf(files: readonly string[]): readonly number[] {
  return files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/"resource \(pid (\d+)\)"/g)].map(([, pid]) =>
      Number(pid),
    ),
  );
}
