/**
 * The business resource: a small shop that decides whose result counts. It runs as a process of
 * its own and answers JSON lines over TCP, one short transaction a request, so a stopped worker
 * can never hold a transaction or a row. Every attempt that reaches it is written to a ledger in
 * the same transaction, whether it was accepted or refused.
 */
import { z } from 'zod';
import type { FencingToken } from '../domain/fence.ts';
import type { AcceptRule } from '../domain/scenario.ts';
import type { Endpoint } from '../domain/target.ts';

const decimal = z.string().regex(/^\d{1,20}$/);

/** Actions of the wire. `effect` of a worker is `begin-effect`, then `complete-effect`. */
export const resourceActions = [
  'close-order',
  'pay-order',
  'release-stock',
  'write',
  'begin-effect',
  'complete-effect',
  'claim-task',
  'checkpoint',
] as const;
export type ResourceAction = (typeof resourceActions)[number];

const requestIdShape = z.string().regex(/^[\w./:@+-]{1,200}$/, 'letters, digits and ./:@+-_');

export const writeRequest = z.object({
  kind: z.literal('write'),
  /** Unique id of this request; a second one with it is a bug of the caller. */
  requestId: requestIdShape,
  action: z.enum(resourceActions),
  subject: z.string().min(1).max(500),
  /** Idempotency key of the effect. */
  operationId: z.string().min(1).max(500),
  worker: z.string().max(200),
  attempt: z.int().nonnegative(),
  owner: z.string().min(1).max(500),
  /** Null when the protocol has no fence. */
  fence: decimal.nullable(),
  value: z.string().max(10_000).optional(),
});
export type WriteRequest = z.infer<typeof writeRequest>;

export const writeReply = z.object({
  requestId: z.string(),
  accepted: z.boolean(),
  /**
   * `accepted`; `duplicate` when `replayed`; or why not: one of `refusals`; `sql-error` and
   * `bad-request` (nothing was written); `commit-unknown` (the database did not tell).
   */
  code: z.string(),
  detail: z.string().optional(),
  /** Ledger sequence number of the attempt; repeated by the same grant, that of the first time. */
  version: decimal.nullable(),
  /** Accepted as before: the effect of this operation id was there and was not applied again. */
  replayed: z.boolean(),
});
export type WriteReply = z.infer<typeof writeReply>;

/** Reads one subject as a worker does before it decides; writes nothing, not even to the ledger. */
export const readRequest = z.object({
  kind: z.literal('read'),
  requestId: requestIdShape,
  action: z.enum(resourceActions),
  subject: z.string().min(1).max(500),
});
export type ReadRequest = z.infer<typeof readRequest>;

export const readReply = z.object({
  requestId: z.string(),
  /** Column values as text; null for SQL null. Empty when the subject does not exist yet. */
  row: z.record(z.string(), z.string().nullable()),
});
export type ReadReply = z.infer<typeof readReply>;

/** First line on the resource process's stdin. */
export const serverSettings = z.object({
  accept: z.enum(['greater', 'greater-or-equal', 'any']),
  url: z.string().nullable(),
  file: z.string(),
  run: z.string().regex(/^[a-z0-9_]{1,40}$/, 'lower-case letters, digits and _'),
});
export type ServerSettings = z.infer<typeof serverSettings>;

/** What the run itself asks, on its own direct connection. */
export const ledgerRequest = z.object({
  kind: z.literal('ledger'),
  requestId: requestIdShape,
  /** Rows above this sequence number, at most `ledgerPage` of them. */
  after: decimal,
});

export const queryRequest = z.object({
  kind: z.literal('query'),
  requestId: requestIdShape,
  sql: z.string().min(1).max(20_000),
});

export const resourceRequest = z.discriminatedUnion('kind', [
  writeRequest,
  readRequest,
  ledgerRequest,
  queryRequest,
]);
export type ResourceRequest = z.infer<typeof resourceRequest>;

export const ledgerPage = 500;

const sqlRow = z.record(z.string(), z.string().nullable());

/** `ledger` and `query`: rows as text, or the database's words about a bad statement. */
export const rowsReply = z.union([
  z.object({ requestId: z.string(), rows: z.array(sqlRow) }),
  z.object({ requestId: z.string(), error: z.string() }),
]);

/**
 * Refusals, all definite: the business state is as before (a refusal is in the ledger, though).
 * - `stale-token`: smaller than the last accepted one
 * - `token-used`: equal to the last accepted one, same owner, and the rule is `greater`
 * - `fence-fault`: equal token of another owner; two grants carried one number
 * - `no-token`: the rule needs a fence and the request has none
 * - `token-out-of-range`: above 2^63 - 1
 * - `wrong-state`: the order was already closed or paid, …
 * - `effect-in-doubt`: an earlier attempt began this effect and never completed it
 */
export const refusals = [
  'stale-token',
  'token-used',
  'fence-fault',
  'no-token',
  'token-out-of-range',
  'wrong-state',
  'effect-in-doubt',
] as const;
export type Refusal = (typeof refusals)[number];

/** One attempt that reached the resource. */
export interface LedgerRow {
  /** The resource's own order; grows along every subject in commit order. */
  readonly seq: bigint;
  readonly requestId: string;
  readonly action: ResourceAction;
  readonly subject: string;
  readonly operationId: string;
  readonly worker: string;
  readonly attempt: number;
  readonly owner: string;
  readonly fence: FencingToken | undefined;
  readonly accepted: boolean;
  /** An accepted repetition: counted as no further effect. */
  readonly replayed: boolean;
  readonly code: string;
  /** Monotonic ns of this host when the transaction was decided. */
  readonly atNs: bigint;
}

export interface ResourceOptions {
  readonly accept: AcceptRule;
  /** `postgres://…`, or undefined for the embedded database. */
  readonly url: string | undefined;
  /** Folder for the embedded database file. Unused with a URL. */
  readonly folder: string;
  /** Lower-case letters, digits and `_`: names the schema (PostgreSQL) or file of this run. */
  readonly run: string;
  /** Called with the process before it serves: the undo journal records it. */
  readonly onSpawn?: (pid: number) => void | Promise<void>;
}

/** A running resource. Its readers use their own direct connection, never a worker's proxy. */
export interface ResourceServer {
  readonly endpoint: Endpoint;
  readonly pid: number;
  readonly accept: AcceptRule;
  /** Every attempt so far, by sequence number. */
  ledger(): Promise<readonly LedgerRow[]>;
  /**
   * One read-only SQL statement of a scenario's own invariant; values as text, null as null.
   * Tables: orders, stock, stock_releases, registers, effects, tasks, ledger.
   * @throws {UsageError} `bad-query` with the database's words
   */
  query(sql: string): Promise<readonly Readonly<Record<string, string | null>>[]>;
  /** Ends the process. With a URL the run's schema is dropped. Idempotent. */
  stop(): Promise<void>;
}
