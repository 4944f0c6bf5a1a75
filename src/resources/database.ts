/** The little of SQL that the shop needs, so that one code path serves both databases. */

/** BIGINT columns are bigint, text is string, NULL is null. */
export type SqlValue = string | bigint | null;
export type SqlRow = Readonly<Record<string, SqlValue>>;

/** Statements inside one transaction; `?` marks a parameter. */
export interface SqlSession {
  all(sql: string, params: readonly SqlValue[]): Promise<readonly SqlRow[]>;
}

export interface Database {
  /** Appended to a SELECT that must hold its row until the end of the transaction. */
  readonly forUpdate: '' | ' FOR UPDATE';
  /** Column type of a key that the database counts up. */
  readonly countedKey: string;
  /**
   * Runs `work` in one transaction that no other writer of the same row can interleave with, and
   * rolls back when it throws.
   * @throws {CommitUnknown} when the connection ended during COMMIT
   */
  transaction<T>(work: (session: SqlSession) => Promise<T>): Promise<T>;
  /** Runs one SELECT that cannot write. Values as text. */
  select(sql: string): Promise<readonly Readonly<Record<string, string | null>>[]>;
  /** Removes what this run created on a server; leaves an embedded file. */
  drop(): Promise<void>;
  close(): Promise<void>;
}

/** COMMIT was sent and not answered: the transaction may count, or not. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown';
}

/**
 * Makes a scenario's statement a subquery: a second statement, or one that writes, is then a syntax
 * error in both databases (libsql would silently ignore what follows the first `;`).
 */
export function asSubquery(sql: string): string {
  return `SELECT * FROM (\n${sql.trim().replace(/;+$/, '')}\n) AS q`;
}
