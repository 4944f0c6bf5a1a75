/**
 * The default worker process: worker protocol on stdin and stdout, one lock client, one resource
 * connection. It ends when stdin ends, at once and without releasing anything, so that a runner
 * that dies leaves no worker behind.
 */
import { FencepostError, UsageError } from '../domain/errors.ts';
import { LineSplitter } from '../domain/line-splitter.ts';
import { seededRandom } from '../domain/random.ts';
import { parseTarget } from '../domain/target.ts';
import { mutationRoles, type LockProtocol, type MutationRole } from '../protocols/protocol.ts';
import { openProtocol } from '../protocols/registry.ts';
import { ResourceClient } from '../resources/resource-client.ts';
import {
  businessActions,
  controllerMessage,
  encodeMessage,
  parkPoints,
  workerProtocolVersion,
  type ControllerMessage,
  type InitMessage,
  type WorkerMessage,
} from './worker-protocol.ts';
import { starve } from './worker-starve.ts';
import { WorkerSession } from './worker-session.ts';

let session: WorkerSession | undefined;

// Pipes are written synchronously on POSIX: a message is out before the request that follows it.
function emit(message: WorkerMessage): void {
  process.stdout.write(encodeMessage(message));
}

function leave(reason: string, code: number): void {
  emit({ type: 'bye', reason });
  process.exit(code);
}

async function start(init: InitMessage): Promise<void> {
  const target = parseTarget(init.service);
  const protocol = await openProtocol(init.protocol, target.kind);
  const client = await protocol.connect({
    target,
    requestTimeoutMs: init.requestTimeoutMs,
    clientName: init.clientName,
    mutation: init.mutation === null ? undefined : mutationOf(init.mutation, protocol),
    random: seededRandom(init.seed, init.workerId, 'poll'),
  });
  const resource = new ResourceClient(init.resource, init.requestTimeoutMs);
  session = new WorkerSession(init, client, resource, emit);
  emit({
    type: 'ready',
    version: workerProtocolVersion,
    workerId: init.workerId,
    pid: process.pid,
    honours: [
      ...parkPoints,
      ...businessActions,
      'renew',
      'confirm',
      'renew-timer',
      'mutation',
      'self-check',
      'starve',
      ...(protocol.fenced ? ['fence'] : []),
    ],
  });
  startHeartbeat(init.heartbeatEveryMs);
}

function mutationOf(name: string, protocol: LockProtocol): MutationRole {
  const role = mutationRoles.find((known) => known === name);
  if (role !== undefined && protocol.mutations[role] === 'variant') return role;
  throw new UsageError(`protocol "${protocol.id}" has no variant "${name}"`, {
    code: 'no-variant',
    definite: true,
  });
}

function startHeartbeat(everyMs: number): void {
  let seq = 0;
  setInterval(() => {
    const { user, system } = process.cpuUsage();
    const atNs = String(process.hrtime.bigint());
    emit({ type: 'heartbeat', seq, atNs, cpuUs: user + system });
    seq += 1;
  }, everyMs);
}

async function handle(message: ControllerMessage): Promise<void> {
  switch (message.type) {
    case 'init':
      return start(message);
    case 'op':
      return session?.run(message);
    case 'go':
      session?.go(message.id);
      return;
    case 'starve':
      starve(message);
      return;
    case 'ping':
      emit({ type: 'pong', nonce: message.nonce, atNs: String(process.hrtime.bigint()) });
      return;
  }
}

function receive(line: string): void {
  if (line.trim() === '') return;
  handle(controllerMessage.parse(JSON.parse(line))).catch(fail);
}

function fail(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  const code = error instanceof FencepostError ? error.code : 'worker-bug';
  process.stderr.write(`${code}: ${text}\n`);
  leave(`${code}: ${text}`, 1);
}

const lines = new LineSplitter();
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk: string) => {
  try {
    for (const line of lines.push(chunk)) receive(line);
  } catch (error) {
    fail(error);
  }
});
process.stdin.on('end', () => process.exit(0));
process.stdout.on('error', () => process.exit(0));
