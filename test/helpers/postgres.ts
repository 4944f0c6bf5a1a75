/** A PostgreSQL of a test's own, from whatever binaries this machine has. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import pg from 'pg';
import { until } from './until.ts';

export interface Postgres {
  /** With its password, which holds every character that a URL must escape. */
  readonly url: string;
  readonly password: string;
  readonly child: ChildProcess;
  stop(): Promise<void>;
}

const user = 'fencepost';
const password = 'p/w?#@%:1';

/** @throws {Error} when there is no PostgreSQL, or it does not come up */
export async function startPostgres(): Promise<Postgres> {
  const programs = findPrograms();
  const folder = mkdtempSync(join(tmpdir(), 'fencepost-postgres-'));
  const account = accountFor(folder);
  const data = join(folder, 'data');
  writeFileSync(join(folder, 'password'), password, { mode: 0o644 });
  const auth = ['-A', 'scram-sha-256', `--pwfile=${join(folder, 'password')}`];
  execFileSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', user, '-E', 'UTF8', '--no-sync', ...auth],
    { ...account, stdio: 'pipe', env: { ...process.env, LC_ALL: 'C' } },
  );
  const port = await freePort();
  const settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', fsync: 'off' };
  const child = spawn(
    join(programs, 'postgres'),
    [
      ...['-D', data, '-p', String(port)],
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    { ...account, stdio: 'ignore' },
  );
  const url = `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`;
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      resolve();
    });
  });
  await until('PostgreSQL serves', () => serves(url), 30_000);
  return {
    url,
    password,
    child,
    async stop() {
      // Fast shutdown: ends the sessions, too.
      child.kill('SIGINT');
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

/** The folder with `postgres` and `initdb`: Debian keeps them off PATH, one folder a version. */
function findPrograms(): string {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian) : [];
  const places = [
    ...versions.sort((a, b) => Number(b) - Number(a)).map((each) => join(debian, each, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ];
  const found = places.find((place) =>
    ['postgres', 'initdb'].every((name) => existsSync(join(place, name))),
  );
  if (found !== undefined) return found;
  throw new Error(
    'no PostgreSQL here: neither /usr/lib/postgresql/*/bin nor PATH has postgres and initdb; ' +
      'on Debian and Ubuntu: apt-get install postgresql',
  );
}

/** PostgreSQL does not run as root: root hands it to the account that the package made. */
function accountFor(folder: string): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (kind: string): number =>
    Number(execFileSync('id', [kind, 'postgres'], { encoding: 'utf8' }));
  const [uid, gid] = [id('-u'), id('-g')];
  chownSync(folder, uid, gid);
  return { uid, gid };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject).listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
  });
}

async function serves(url: string): Promise<boolean> {
  try {
    await rowsOf(url, 'SELECT 1');
    return true;
  } catch {
    // Not yet.
    return false;
  }
}

/** One statement on a connection of its own; the first column of its rows. */
export async function rowsOf(url: string, sql: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' });
    return rows.map(([first]) => first);
  } finally {
    await client.end();
  }
}
