/**
 * The shop: one transaction a request. It locks the subject's row, decides by admission.ts, applies
 * the business step, and writes the attempt to the ledger, all or nothing.
 */
import type { AcceptRule } from '../domain/scenario.ts';
import { admit } from './admission.ts';
import {
  CommitUnknown,
  type Database,
  type SqlRow,
  type SqlSession,
  type SqlValue,
} from './database.ts';
import type { ReadReply, ReadRequest, Refusal, WriteReply, WriteRequest } from './resource.ts';
import { guards } from './shop-schema.ts';
import { applyStep } from './shop-steps.ts';

interface Decision {
  readonly accepted: boolean;
  readonly code: 'accepted' | 'duplicate' | Refusal;
  /** Version to answer with instead of the new ledger row's. */
  readonly version?: bigint;
  /** Admitted and new: the step is applied, and the guard raised, once the row has its number. */
  readonly apply?: boolean;
}

/** Never rejects: a failing database is an answer, too. */
export async function write(
  database: Database,
  rule: AcceptRule,
  request: WriteRequest,
): Promise<WriteReply> {
  const { requestId } = request;
  try {
    return await database.transaction((session) => attempt(session, database, rule, request));
  } catch (error) {
    const code = error instanceof CommitUnknown ? 'commit-unknown' : 'sql-error';
    const detail = error instanceof Error ? error.message : String(error);
    return { requestId, accepted: false, code, detail, version: null, replayed: false };
  }
}

async function attempt(
  session: SqlSession,
  database: Database,
  rule: AcceptRule,
  request: WriteRequest,
): Promise<WriteReply> {
  const row = await lockSubject(session, database, request);
  const decision = await decide(session, rule, request, row);
  const replayed = decision.code === 'duplicate';
  const seq = await appendToLedger(session, request, decision);
  if (decision.accepted && decision.version === undefined) await raiseGuard(session, request);
  if (decision.apply === true) {
    await applyStep(session, request, seq);
    await session.all(
      `INSERT INTO operations (operation_id, action, owner, fence, seq) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO NOTHING`,
      [request.operationId, request.action, request.owner, fenceOf(request) ?? null, seq],
    );
  }
  return {
    requestId: request.requestId,
    accepted: decision.accepted,
    code: decision.code,
    version: String(decision.version ?? seq),
    replayed,
  };
}

async function lockSubject(
  session: SqlSession,
  database: Database,
  { action, subject }: WriteRequest,
): Promise<SqlRow> {
  const { table } = guards[action];
  await session.all(`INSERT INTO ${table} (id) VALUES (?) ON CONFLICT DO NOTHING`, [subject]);
  const [row] = await session.all(`SELECT * FROM ${table} WHERE id = ?${database.forUpdate}`, [
    subject,
  ]);
  if (row === undefined) throw new Error(`subject ${subject} vanished from ${table}`);
  return row;
}

async function decide(
  session: SqlSession,
  rule: AcceptRule,
  request: WriteRequest,
  row: SqlRow,
): Promise<Decision> {
  const [first] = await session.all(
    'SELECT owner, fence, seq FROM operations WHERE operation_id = ? AND action = ?',
    [request.operationId, request.action],
  );
  const fence = fenceOf(request);
  const firstSeq = bigintOf(first?.['seq']);
  const sameGrant = first?.['owner'] === request.owner && bigintOf(first['fence']) === fence;
  if (sameGrant && firstSeq !== undefined) {
    return { accepted: true, code: 'duplicate', version: firstSeq };
  }
  const guard = guards[request.action];
  const lastOwner = row[guard.owner];
  const last = {
    owner: typeof lastOwner === 'string' ? lastOwner : undefined,
    fence: bigintOf(row[guard.fence]),
  };
  const admission = admit(rule, last, { owner: request.owner, fence });
  if (admission !== 'admitted') return { accepted: false, code: admission };
  // Without protection nothing looks at what is there already.
  if (rule === 'any') return { accepted: true, code: 'accepted', apply: true };
  if (first !== undefined) return repeatedByAnother(session, request);
  return rightState(request, row)
    ? { accepted: true, code: 'accepted', apply: true }
    : { accepted: false, code: 'wrong-state' };
}

/** The effect of this operation id is there, under an older token: it is not applied again. */
async function repeatedByAnother(session: SqlSession, request: WriteRequest): Promise<Decision> {
  if (request.action !== 'begin-effect') return { accepted: true, code: 'duplicate' };
  const open = await session.all(
    'SELECT 1 AS one FROM effects WHERE operation_id = ? AND completed_seq IS NULL',
    [request.operationId],
  );
  return open.length === 0
    ? { accepted: true, code: 'duplicate' }
    : { accepted: false, code: 'effect-in-doubt' };
}

/** An order is closed or paid once, and only while open; everything else is allowed in any state. */
function rightState({ action }: WriteRequest, row: SqlRow): boolean {
  return (action !== 'close-order' && action !== 'pay-order') || row['status'] === 'open';
}

async function raiseGuard(session: SqlSession, request: WriteRequest): Promise<void> {
  const { table, fence, owner } = guards[request.action];
  await session.all(`UPDATE ${table} SET ${fence} = ?, ${owner} = ? WHERE id = ?`, [
    fenceOf(request) ?? null,
    request.owner,
    request.subject,
  ]);
}

async function appendToLedger(
  session: SqlSession,
  request: WriteRequest,
  decision: Decision,
): Promise<bigint> {
  const [row] = await session.all(
    `INSERT INTO ledger (request_id, action, subject, operation_id, worker, attempt, owner, fence,
      accepted, replayed, code, at_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq`,
    [
      request.requestId,
      request.action,
      request.subject,
      request.operationId,
      request.worker,
      BigInt(request.attempt),
      request.owner,
      decision.code === 'token-out-of-range' ? null : (fenceOf(request) ?? null),
      decision.accepted ? 1n : 0n,
      decision.code === 'duplicate' ? 1n : 0n,
      decision.code,
      String(process.hrtime.bigint()),
    ],
  );
  const seq = bigintOf(row?.['seq']);
  if (seq === undefined) throw new Error('the ledger gave no sequence number');
  return seq;
}

/** What a worker would look at before it decides. */
export async function readSubject(database: Database, request: ReadRequest): Promise<ReadReply> {
  const { table } = guards[request.action];
  const [row = {}] = await database.transaction((session) =>
    session.all(`SELECT * FROM ${table} WHERE id = ?`, [request.subject]),
  );
  const texts = Object.entries(row).map(([name, value]): [string, string | null] => [
    name,
    value === null ? null : String(value),
  ]);
  return { requestId: request.requestId, row: Object.fromEntries(texts) };
}

function fenceOf(request: WriteRequest): bigint | undefined {
  return request.fence === null ? undefined : BigInt(request.fence);
}

function bigintOf(value: SqlValue | undefined): bigint | undefined {
  return typeof value === 'bigint' ? value : undefined;
}
