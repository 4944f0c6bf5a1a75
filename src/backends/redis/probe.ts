/** What this server is and what this account may do on it, found out by asking harmlessly. */
import { known, unknown, type Known } from '../../domain/known.ts';
import type { Ability, Capabilities, Probe } from '../../domain/probe.ts';
import { stringToText } from '../../domain/text.ts';
import type { Command, RedisConnection, RequestOptions } from './connection.ts';
import { isRefusal } from './errors.ts';
import { parseTime } from './page.ts';
import { readServerFacts, toServerView, type ServerFacts } from './server-view.ts';

/** @throws {TargetError | PermissionError} unreachable, or not let in at all */
export async function probeServer(
  connection: RedisConnection,
  signal: AbortSignal,
): Promise<Probe> {
  const how = { signal };
  const facts = await readServerFacts(connection, how);
  const server = toServerView(connection, facts);
  const writable = writableSide(facts);
  return {
    version: productOf(facts),
    topology: topologyOf(facts),
    clusterId: facts.runId,
    server,
    writable,
    healthy: healthOf(facts),
    clockOffsetMs: await clockOffset(connection, how),
    capabilities: await capabilities(connection, writable, how),
  };
}

function productOf({ version, info }: ServerFacts): Known<string> {
  if (version.kind === 'unknown') return version;
  return known(`${info.has('valkey_version') ? 'Valkey' : 'Redis'} ${stringToText(version.value)}`);
}

function topologyOf({ info, role }: ServerFacts): Known<string> {
  if (info.size === 0) return unknown('INFO was refused', 'needs +info');
  const mode = info.get('redis_mode') ?? 'standalone';
  if (role.kind === 'known' && role.value === 'replica') {
    const primary = `${info.get('master_host') ?? '?'}:${info.get('master_port') ?? '?'}`;
    return known(stringToText(`replica of ${primary}`));
  }
  const replicas = Number(info.get('connected_slaves') ?? 0);
  if (mode !== 'standalone') return known(stringToText(mode));
  return known(
    replicas === 0 ? 'standalone' : `primary with ${replicas} replica${replicas === 1 ? '' : 's'}`,
  );
}

function writableSide({ role }: ServerFacts): Ability {
  if (role.kind === 'unknown') return { can: false, ...withoutKind(role) };
  if (role.value === 'primary') return { can: true };
  return {
    can: false,
    reason: 'this is a replica: it refuses writes',
    remedy: 'point fencepost at its primary',
  };
}

function healthOf({ info }: ServerFacts): Known<Ability> {
  if (info.size === 0) return unknown('INFO was refused', 'needs +info');
  const failover = info.get('master_failover_state') ?? 'no-failover';
  if (failover !== 'no-failover') {
    return known({ can: false, reason: `a failover is under way: ${stringToText(failover)}` });
  }
  if (info.get('master_link_status') === 'down') {
    return known({ can: false, reason: 'the link to its primary is down' });
  }
  return known({ can: true });
}

/** Half of the round trip is the error; for display only. */
async function clockOffset(
  connection: RedisConnection,
  how: RequestOptions,
): Promise<Known<number>> {
  const before = Date.now();
  const [answer] = await connection.sendAll([['TIME']], how);
  const after = Date.now();
  if (answer instanceof Error && !isRefusal(answer)) throw answer;
  const time = parseTime(answer);
  return time.kind === 'unknown' ? time : known(Math.round(time.value - (before + after) / 2));
}

async function capabilities(
  connection: RedisConnection,
  writable: Ability,
  how: RequestOptions,
): Promise<Capabilities> {
  const commands: Command[] = [
    ['EVAL', 'return 1', 0],
    ['CLIENT', 'LIST', 'ID', '1'],
    ['PUBSUB', 'NUMSUB'],
  ];
  const [script, clients, subscribers] = await connection.sendAll(commands, how);
  const write = writable.can ? allowed(script, 'scripts were refused', '+eval') : writable;
  return {
    release: write,
    hold: write,
    endSession: { can: false, reason: 'a Redis lock hangs on no session' },
    history: {
      can: false,
      reason: 'Redis keeps no history; only fencepost’s own fenced locks carry one',
      remedy: 'a fenced lock of fencepost keeps one',
    },
    clients: allowed(clients, 'CLIENT LIST was refused', '+client|list'),
    waiters: allowed(subscribers, 'PUBSUB NUMSUB was refused', '+pubsub|numsub'),
  };
}

/** Only a refusal is a no; any other complaint is about our harmless arguments. */
function allowed(answer: unknown, reason: string, permission: string): Ability {
  return isRefusal(answer) ? { can: false, reason, remedy: `needs ${permission}` } : { can: true };
}

function withoutKind(fact: { readonly reason: string; readonly remedy?: string }): {
  reason: string;
  remedy?: string;
} {
  const { reason, remedy } = fact;
  return remedy === undefined ? { reason } : { reason, remedy };
}
