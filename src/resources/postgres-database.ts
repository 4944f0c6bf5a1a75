/**
 * PostgreSQL through `pg`, in a schema of the run's own. Requests run on a small pool, so that row
 * locks (SELECT … FOR UPDATE) decide between them as they do in production.
 */
import pg from 'pg';
import {
  asSubquery,
  CommitUnknown,
  type Database,
  type SqlRow,
  type SqlSession,
  type SqlValue,
} from './database.ts';

const connections = 4;
const bigintType = 20;

/** Creates the schema of this run and uses it. */
export async function openPostgres(url: string, run: string): Promise<Database> {
  const schema = runSchema(run);
  const pool = openPool(url);
  await pool.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
  const begin = (mode: string): string => `BEGIN ${mode}; SET LOCAL search_path TO ${schema}`;
  return {
    forUpdate: ' FOR UPDATE',
    countedKey: 'BIGSERIAL PRIMARY KEY',
    transaction: (work) =>
      withClient(pool, async (client) => {
        await client.query(begin('ISOLATION LEVEL READ COMMITTED'));
        const result = await work(sessionOf(client));
        await commit(client);
        return result;
      }),
    select: (sql) =>
      withClient(pool, async (client) => {
        await client.query(begin('READ ONLY'));
        // The extended protocol takes one statement only: none can end the read-only transaction.
        const statement = { text: asSubquery(sql), queryMode: 'extended' };
        const { rows } = await client.query<Record<string, SqlValue>>(statement);
        await client.query('COMMIT');
        return rows.map((row) =>
          Object.fromEntries(
            Object.entries(row).map(([name, value]) => [
              name,
              value === null ? null : String(value),
            ]),
          ),
        );
      }),
    async drop() {
      await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    },
    close: () => pool.end(),
  };
}

/** Drops what a run left behind on the server. Idempotent. */
export async function dropPostgresRun(url: string, run: string): Promise<void> {
  const pool = openPool(url);
  try {
    await pool.query(`DROP SCHEMA IF EXISTS ${runSchema(run)} CASCADE`);
  } finally {
    await pool.end();
  }
}

function openPool(url: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    application_name: 'fencepost resource',
    connectionTimeoutMillis: 2000,
    statement_timeout: 5000,
    // Values arrive as the server's own text; only 64-bit integers become numbers.
    types: { getTypeParser: (type: number) => (type === bigintType ? BigInt : asText) },
  });
  // An idle connection that breaks is replaced by the pool; a busy one rejects its own query.
  pool.on('error', () => undefined);
  return pool;
}

function asText(value: string): string {
  return value;
}

/** `run` is checked, because a schema name cannot be a parameter. */
function runSchema(run: string): string {
  if (!/^[a-z0-9_]{1,40}$/.test(run)) throw new RangeError(`"${run}" is not a run name`);
  return `fencepost_${run}`;
}

async function withClient<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    const result = await work(client);
    client.release();
    return result;
  } catch (error) {
    // Closing the connection rolls back whatever was open, also when it is out of step.
    client.release(true);
    throw error;
  }
}

async function commit(client: pg.PoolClient): Promise<void> {
  try {
    await client.query('COMMIT');
  } catch (cause) {
    // Integrity and serialization failures roll back; after any other word it may have counted.
    if (cause instanceof pg.DatabaseError && /^(23|40)/.test(cause.code ?? '')) throw cause;
    throw new CommitUnknown('the connection ended during COMMIT', { cause });
  }
}

function sessionOf(client: pg.PoolClient): SqlSession {
  return {
    async all(sql, params) {
      let index = 0;
      const text = sql.replace(/\?/g, () => `$${(index += 1)}`);
      const values = params.map((value) => (typeof value === 'bigint' ? String(value) : value));
      const result = await client.query<Record<string, SqlValue>>(text, values);
      return result.rows satisfies readonly SqlRow[];
    },
  };
}
