/**
 * The embedded database: libsql on one file. Its calls are synchronous and BEGIN IMMEDIATE takes
 * the write lock, so transactions of the one resource process run one after another.
 */
import LibsqlDatabase from 'libsql';
import {
  asSubquery,
  type Database,
  type SqlRow,
  type SqlSession,
  type SqlValue,
} from './database.ts';

export function openLibsql(file: string): Database {
  const writer = open(file);
  writer.exec('PRAGMA journal_mode = WAL');
  writer.exec('PRAGMA synchronous = NORMAL');
  // The `readonly` option of libsql 0.5.29 does not refuse writes; this does.
  const reader = open(file);
  reader.exec('PRAGMA query_only = 1');
  const session: SqlSession = {
    all: (sql, params) =>
      Promise.resolve(
        writer
          .prepare(sql)
          .all(...params)
          .map(toRow),
      ),
  };
  let queue: Promise<unknown> = Promise.resolve();
  return {
    forUpdate: '',
    countedKey: 'INTEGER PRIMARY KEY AUTOINCREMENT',
    transaction<T>(work: (inner: SqlSession) => Promise<T>): Promise<T> {
      const mine = queue.then(() => runTransaction(writer, session, work));
      // The next one starts whatever became of this one; its own caller sees the error.
      queue = mine.catch(() => undefined);
      return mine;
    },
    select(sql) {
      const rows = reader.prepare(asSubquery(sql)).all().map(toRow);
      return Promise.resolve(rows.map(toTexts));
    },
    drop: () => Promise.resolve(),
    close() {
      reader.close();
      writer.close();
      return Promise.resolve();
    },
  };
}

function open(file: string): LibsqlDatabase.Database {
  const database = new LibsqlDatabase(file, { timeout: 5000 });
  database.defaultSafeIntegers(true);
  return database;
}

async function runTransaction<T>(
  writer: LibsqlDatabase.Database,
  session: SqlSession,
  work: (inner: SqlSession) => Promise<T>,
): Promise<T> {
  writer.exec('BEGIN IMMEDIATE');
  try {
    const result = await work(session);
    writer.exec('COMMIT');
    return result;
  } catch (error) {
    if (writer.inTransaction) writer.exec('ROLLBACK');
    throw error;
  }
}

function toRow(raw: unknown): SqlRow {
  const row: Record<string, SqlValue> = {};
  if (typeof raw !== 'object' || raw === null) return row;
  for (const [name, value] of Object.entries(raw)) row[name] = toValue(value);
  return row;
}

function toValue(value: unknown): SqlValue {
  if (value === null || typeof value === 'string' || typeof value === 'bigint') return value;
  if (typeof value === 'number') return String(value);
  throw new TypeError('a column is neither number nor text');
}

function toTexts(row: SqlRow): Record<string, string | null> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value === null ? null : String(value)]),
  );
}
