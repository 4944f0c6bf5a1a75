/** Starts the resource process and reads its books over a direct connection of its own. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { InternalError, TargetError, UsageError } from '../domain/errors.ts';
import { LineSplitter } from '../domain/line-splitter.ts';
import { stringToText } from '../domain/text.ts';
import { ResourceClient } from './resource-client.ts';
import { withoutPassword } from './resource-url.ts';
import {
  ledgerPage,
  resourceActions,
  rowsReply,
  serverSettings,
  type LedgerRow,
  type ResourceOptions,
  type ResourceServer,
  type ResourceRequest,
  type ServerSettings,
} from './resource.ts';

/** The built program, also when this file runs from its source (tests). */
const serverMain = fileURLToPath(
  new URL(
    './resource-server-main.js',
    import.meta.url.replace(/\/src\/resources\/[^/]*$/, '/dist/resources/'),
  ),
);

const startTimeoutMs = 10_000;
const requestTimeoutMs = 10_000;
const stopTimeoutMs = 5000;

/**
 * Starts the resource; resolves when it serves.
 * @throws {TargetError} `resource-unreachable` when its database cannot be opened
 */
export async function startResourceServer(options: ResourceOptions): Promise<ResourceServer> {
  // A group of its own: Ctrl-C is for the run, and who ends the resource by force means it alone.
  const child = spawn(process.execPath, [serverMain], { stdio: 'pipe', detached: true });
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => {
      resolve();
    });
  });
  const { pid } = child;
  if (pid === undefined) throw new InternalError('the resource did not start', { code: 'no-pid' });
  await options.onSpawn?.(pid);
  const settings: ServerSettings = {
    accept: options.accept,
    url: options.url ?? null,
    file: join(options.folder, `resource-${options.run}.db`),
    run: options.run,
  };
  child.stdin.on('error', () => undefined);
  child.stdin.write(`${JSON.stringify(serverSettings.parse(settings))}\n`);
  const port = await portOf(child, options.url);
  const endpoint = { host: '127.0.0.1', port };
  const client = new ResourceClient(endpoint, requestTimeoutMs);
  return {
    endpoint,
    pid,
    accept: options.accept,
    ledger: () => readLedger(client),
    query: (sql) => readRows(client, { kind: 'query', requestId: nextId(), sql }),
    async stop() {
      client.close();
      child.stdin.end();
      const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
      await exited;
      clearTimeout(timer);
    },
  };
}

const portLine = z.object({ port: z.int().positive() });

function portOf(child: ChildProcessWithoutNullStreams, url: string | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    let words = '';
    const fail = (what: string): void => {
      child.kill('SIGKILL');
      const where = url === undefined ? 'the embedded database' : withoutPassword(url);
      const message = `the resource on ${where} ${what}: ${stringToText(words.trim())}`;
      reject(new TargetError(message, { code: 'resource-unreachable', definite: true }));
    };
    const timer = setTimeout(() => {
      fail(`did not serve within ${startTimeoutMs} ms`);
    }, startTimeoutMs);
    const lines = new LineSplitter();
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      words = (words + chunk).slice(-2000);
    });
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      for (const line of lines.push(chunk)) {
        clearTimeout(timer);
        resolve(portLine.parse(JSON.parse(line)).port);
      }
    });
    child.once('close', () => {
      clearTimeout(timer);
      fail('ended');
    });
  });
}

type TextRow = Readonly<Record<string, string | null>>;

let requests = 0;
function nextId(): string {
  requests += 1;
  return `run/${requests}`;
}

async function readRows(
  client: ResourceClient,
  request: ResourceRequest,
): Promise<readonly TextRow[]> {
  const answer = await client.call(request, rowsReply);
  if (answer.outcome !== 'ok') {
    throw new TargetError(`the resource did not answer: ${answer.detail ?? answer.code}`, {
      code: 'resource-unreachable',
      definite: true,
    });
  }
  if ('rows' in answer.reply) return answer.reply.rows;
  throw new UsageError(`the database refused the query: ${stringToText(answer.reply.error)}`, {
    code: 'bad-query',
    hint: 'one SELECT without side effects',
    definite: true,
  });
}

async function readLedger(client: ResourceClient): Promise<readonly LedgerRow[]> {
  const all: LedgerRow[] = [];
  for (;;) {
    const after = String(all.at(-1)?.seq ?? 0n);
    const page = await readRows(client, { kind: 'ledger', requestId: nextId(), after });
    all.push(...page.map((row) => ledgerRow.parse(row)));
    if (page.length < ledgerPage) return all;
  }
}

const number = z.string().regex(/^\d+$/);
const flag = z.enum(['0', '1']).transform((value) => value === '1');

const ledgerRow = z
  .object({
    seq: number,
    request_id: z.string(),
    action: z.enum(resourceActions),
    subject: z.string(),
    operation_id: z.string(),
    worker: z.string(),
    attempt: number,
    owner: z.string(),
    fence: number.nullable(),
    accepted: flag,
    replayed: flag,
    code: z.string(),
    at_ns: number,
  })
  .transform((row): LedgerRow => ({
    seq: BigInt(row.seq),
    requestId: row.request_id,
    action: row.action,
    subject: row.subject,
    operationId: row.operation_id,
    worker: row.worker,
    attempt: Number(row.attempt),
    owner: row.owner,
    fence: row.fence === null ? undefined : BigInt(row.fence),
    accepted: row.accepted,
    replayed: row.replayed,
    code: row.code,
    atNs: BigInt(row.at_ns),
  }));
