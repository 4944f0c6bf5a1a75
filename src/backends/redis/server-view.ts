/**
 * Which server answers, and in which role: by ROLE and INFO, or by HELLO where the account may use
 * neither. A role is the server's present word; a failover may change it at any time.
 */
import { known, unknown, type Known } from '../../domain/known.ts';
import type { ServerView } from '../../domain/lock.ts';
import { stringToText } from '../../domain/text.ts';
import type { RedisConnection, RequestOptions, Sender } from './connection.ts';
import { isRefusal, isUnknownCommand } from './errors.ts';
import { asBuffer, parsePairs } from './replies.ts';

export interface ServerFacts {
  readonly role: Known<'primary' | 'replica'>;
  /** Random for each start of the server process. */
  readonly runId: Known<string>;
  /** E.g. `7.0.15`. */
  readonly version: Known<string>;
  /** Fields of INFO server and replication; empty when the account may not run INFO. */
  readonly info: ReadonlyMap<string, string>;
}

/** @throws {TargetError} unreachable; a refused command only leaves its facts unknown */
export async function readServerFacts(sender: Sender, how: RequestOptions): Promise<ServerFacts> {
  const [server, replication, role] = await sender.sendAll(
    [['INFO', 'server'], ['INFO', 'replication'], ['ROLE']],
    how,
  );
  const info = new Map([...infoPairs(server), ...infoPairs(replication)]);
  const hello = info.size > 0 ? undefined : await helloPairs(sender, how);
  const roleWord = firstWord(role) ?? info.get('role') ?? hello?.get('role');
  const version = info.get('valkey_version') ?? info.get('redis_version') ?? hello?.get('version');
  const runId = info.get('run_id');
  return {
    role:
      roleWord === undefined
        ? unknown('ROLE and INFO were refused', 'needs +role')
        : known(roleWord === 'master' ? 'primary' : 'replica'),
    runId: runId === undefined ? unknown('INFO was refused', 'needs +info') : known(runId),
    version: version === undefined ? unknown('INFO was refused', 'needs +info') : known(version),
    info,
  };
}

/** The view that goes with every answer. */
export function toServerView(connection: RedisConnection, facts: ServerFacts): ServerView {
  const { info, role } = facts;
  const host = info.get('master_host');
  if (role.kind !== 'known' || role.value !== 'replica') {
    return { endpoint: connection.endpoint, role };
  }
  const port = info.get('master_port');
  const link = info.get('master_link_status');
  return {
    endpoint: connection.endpoint,
    role,
    replicaOf: {
      primary:
        host === undefined ? 'unknown (needs +info)' : stringToText(`${host}:${port ?? '?'}`),
      link: link === 'down' ? 'down' : 'up',
      lastHeardS: lastHeard(info),
      lagBytes: lag(info),
    },
  };
}

function lastHeard(info: ReadonlyMap<string, string>): Known<number> {
  const downSince = Number(info.get('master_link_down_since_seconds'));
  if (info.get('master_link_status') === 'down') {
    return downSince >= 0
      ? known(downSince)
      : unknown('the link has never been up since this server started');
  }
  const seconds = Number(info.get('master_last_io_seconds_ago'));
  return seconds >= 0 ? known(seconds) : unknown('INFO was refused', 'needs +info');
}

/** Bytes received and not yet applied; what the primary has not sent yet cannot be seen from here. */
function lag(info: ReadonlyMap<string, string>): Known<number> {
  const received = Number(info.get('slave_read_repl_offset'));
  const applied = Number(info.get('slave_repl_offset'));
  if (info.get('master_link_status') === 'down') {
    return unknown('the link is down: what the primary did since is not known here');
  }
  if (Number.isNaN(received) || Number.isNaN(applied)) {
    return unknown('this server does not tell', 'ask the primary (INFO replication)');
  }
  return {
    kind: 'partial',
    value: Math.max(0, received - applied),
    reason: 'counts only what was received and not applied',
  };
}

function infoPairs(reply: unknown): Map<string, string> {
  if (reply instanceof Error) return tolerated(reply);
  return parsePairs(asBuffer(reply, 'INFO').toString(), /\r?\n/, ':');
}

async function helloPairs(
  sender: Sender,
  how: RequestOptions,
): Promise<ReadonlyMap<string, string>> {
  const [reply] = await sender.sendAll([['HELLO']], how);
  if (reply instanceof Error) return tolerated(reply);
  const pairs = new Map<string, string>();
  const flat = Array.isArray(reply) ? reply : [];
  for (let at = 0; at + 1 < flat.length; at += 2) pairs.set(String(flat[at]), String(flat[at + 1]));
  return pairs;
}

function firstWord(reply: unknown): string | undefined {
  if (reply instanceof Error) {
    tolerated(reply);
    return undefined;
  }
  return Array.isArray(reply) ? String(reply[0]) : undefined;
}

/** A refusal leaves a fact unknown; anything else is a failure of the server. */
function tolerated(error: Error): Map<string, string> {
  if (isRefusal(error) || isUnknownCommand(error)) return new Map();
  throw error;
}
