/**
 * The resource process: JSON lines over TCP on loopback, one short transaction a request, requests
 * of one connection in order. Its settings come as the first line of stdin (a URL may hold a
 * password); when stdin ends it removes what it created and exits, also if its parent was killed.
 */
import { createServer, type Socket } from 'node:net';
import { z } from 'zod';
import { LineSplitter } from '../domain/line-splitter.ts';
import type { Database } from './database.ts';
import {
  ledgerPage,
  resourceRequest,
  serverSettings,
  type ResourceRequest,
  type ServerSettings,
} from './resource.ts';
import { createTables } from './shop-schema.ts';
import { readSubject, write } from './shop.ts';

async function openDatabase(settings: ServerSettings): Promise<Database> {
  if (settings.url === null)
    return (await import('./libsql-database.ts')).openLibsql(settings.file);
  const { openPostgres } = await import('./postgres-database.ts');
  return openPostgres(settings.url, settings.run);
}

async function answer(
  database: Database,
  settings: ServerSettings,
  request: ResourceRequest,
): Promise<unknown> {
  switch (request.kind) {
    case 'write':
      return write(database, settings.accept, request);
    case 'read':
      return readSubject(database, request);
    case 'ledger':
      return rows(
        database,
        request.requestId,
        `SELECT * FROM ledger WHERE seq > ${request.after} ORDER BY seq LIMIT ${ledgerPage}`,
      );
    case 'query':
      return rows(database, request.requestId, request.sql);
  }
}

async function rows(database: Database, requestId: string, sql: string): Promise<unknown> {
  try {
    return { requestId, rows: await database.select(sql) };
  } catch (error) {
    return { requestId, error: error instanceof Error ? error.message : String(error) };
  }
}

const withId = z.looseObject({ requestId: z.string() });

/** A line that is no request is answered when it names itself, and ends the connection if not. */
function parseRequest(line: string): ResourceRequest | { readonly refused: unknown } {
  const value: unknown = JSON.parse(line);
  const parsed = resourceRequest.safeParse(value);
  if (parsed.success) return parsed.data;
  const { requestId } = withId.parse(value);
  const detail = z.prettifyError(parsed.error);
  return {
    refused: {
      requestId,
      accepted: false,
      code: 'bad-request',
      detail,
      version: null,
      replayed: false,
    },
  };
}

function serve(socket: Socket, database: Database, settings: ServerSettings): void {
  const lines = new LineSplitter();
  let queue: Promise<void> = Promise.resolve();
  const handle = async (line: string): Promise<void> => {
    const request = parseRequest(line);
    const reply =
      'refused' in request ? request.refused : await answer(database, settings, request);
    if (socket.writable) socket.write(`${JSON.stringify(reply)}\n`);
  };
  socket.setEncoding('utf8');
  socket.setNoDelay(true);
  // A peer that goes away has its own outcome to decide; the transaction is committed or not.
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: string) => {
    try {
      for (const line of lines.push(chunk)) {
        queue = queue
          .then(() => handle(line))
          .catch(() => {
            socket.destroy();
          });
      }
    } catch {
      // An endless line: not a client of ours.
      socket.destroy();
    }
  });
}

async function main(settings: ServerSettings): Promise<void> {
  const database = await openDatabase(settings);
  await createTables(database);
  const server = createServer((socket) => {
    serve(socket, database, settings);
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address !== null && typeof address === 'object') {
      process.stdout.write(`${JSON.stringify({ port: address.port })}\n`);
    }
  });
  for (const end of ['SIGTERM', 'SIGHUP'] as const) process.on(end, () => void leave(database));
  // The run may have been killed while the database was opened: its end has passed then.
  if (process.stdin.readableEnded) await leave(database);
  process.stdin.on('end', () => void leave(database));
}

let leaving = false;

async function leave(database: Database): Promise<void> {
  if (leaving) return;
  leaving = true;
  try {
    await database.drop();
    await database.close();
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  }
}

// Ctrl-C reaches the whole terminal group; the run still has books to read before it stops us.
process.on('SIGINT', () => undefined);

const settingsLines = new LineSplitter();
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk: string) => {
  for (const line of settingsLines.push(chunk)) {
    main(serverSettings.parse(JSON.parse(line))).catch((error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(1);
    });
  }
});
process.stdout.on('error', () => undefined);
