/** The Redis servers of a throwaway lab as faults see them: asked directly, about themselves. */
import { FaultNotApplied } from '../../domain/errors.ts';
import { displayEndpoint, parseTarget, type Endpoint } from '../../domain/target.ts';
import { serverLink, type ServerLink } from '../../protocols/redis-link.ts';
import type { SiteServers } from '../drivers/driver.ts';
import { requestTimeoutMs } from '../timing.ts';
import type { FaultContext, FaultPlace } from './fault.ts';

/** What a server says of itself; undefined fields: it does not say. */
export interface ReplicationFacts {
  readonly role: string | undefined;
  readonly runId: string | undefined;
  readonly replicationId: string | undefined;
  /** Of the last write that it has. */
  readonly offset: bigint | undefined;
  readonly linkUp: boolean;
  /** Of a promoted replica: whose history it goes on with, and from which offset. */
  readonly before: { readonly replicationId: string; readonly offset: bigint } | undefined;
}

export interface DataServer {
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly link: ServerLink;
}

/** One primary, its replicas, and the means to end them. */
export interface Replicated {
  readonly servers: SiteServers;
  readonly primary: DataServer;
  readonly replicas: readonly [DataServer, ...DataServer[]];
  close(): void;
}

/** Why no fault can act on a primary and its replicas there; undefined: one can. */
export function withoutReplicas({ protocol, live }: FaultPlace): string | undefined {
  if (live) return 'the servers are not ours to end';
  return protocol.servers === undefined ? 'it has no one primary with replicas' : undefined;
}

/** @throws {FaultNotApplied} unless the servers are ours, one primary and its replicas */
export async function openReplicated({ servers, target }: FaultContext): Promise<Replicated> {
  if (servers === undefined) {
    throw notApplied('the servers are not ours to end', 'run it on throwaway servers: --lab');
  }
  if (target.kind !== 'redis' && target.kind !== 'redis-sentinel') {
    throw notApplied(`a ${target.kind} target has no one primary with replicas`, undefined);
  }
  const open = servers.all.map(({ name, endpoint }) => ({
    name,
    endpoint,
    link: linkTo(endpoint),
  }));
  const close = (): void => {
    for (const { link } of open) link.close();
  };
  const told = await Promise.all(
    open.map(async (server) => ({ server, role: (await factsOf(server.link)).role })),
  );
  const having = (role: string): readonly DataServer[] =>
    told.filter((one) => one.role === role).map(({ server }) => server);
  const [primary, ...otherPrimaries] = having('master');
  const [first, ...rest] = having('slave');
  if (primary === undefined || first === undefined || otherPrimaries.length > 0) {
    close();
    throw notApplied('there is no one primary with replicas', undefined);
  }
  return { servers, primary, replicas: [first, ...rest], close };
}

function linkTo(endpoint: Endpoint): ServerLink {
  const target = parseTarget(`redis://${displayEndpoint(endpoint)}`);
  return serverLink({ target, requestTimeoutMs, clientName: 'fencepost-fault' }, endpoint);
}

function notApplied(message: string, hint: string | undefined): FaultNotApplied {
  return new FaultNotApplied(message, {
    code: 'fault-not-applied',
    definite: true,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** What the server says now; nothing known when it does not answer. */
export async function factsOf(link: ServerLink): Promise<ReplicationFacts> {
  const [server, replication] = [
    await link.send('INFO', 'server'),
    await link.send('INFO', 'replication'),
  ];
  const text = [server, replication]
    .map((reply) => (reply.outcome === 'ok' ? String(reply.value) : ''))
    .join('');
  const field = (pattern: RegExp): string | undefined => pattern.exec(text)?.[1];
  const role = field(/role:([a-z]+)/);
  const offset = field(role === 'slave' ? /slave_repl_offset:(\d+)/ : /master_repl_offset:(\d+)/);
  return {
    role,
    runId: field(/run_id:([0-9a-f]{40})/),
    replicationId: field(/master_replid:([0-9a-f]{40})/),
    offset: offset === undefined ? undefined : BigInt(offset),
    linkUp: field(/master_link_status:([a-z]+)/) === 'up',
    before: historyBefore(
      field(/master_replid2:([0-9a-f]{40})/),
      field(/second_repl_offset:(\d+)/),
    ),
  };
}

/** The server names the first offset that it does not share, and -1 when it was never promoted. */
function historyBefore(
  replicationId: string | undefined,
  next: string | undefined,
): ReplicationFacts['before'] {
  if (replicationId === undefined || next === undefined) return undefined;
  return { replicationId, offset: BigInt(next) - 1n };
}

/** Why a new connection to `endpoint` is refused; undefined when it is let in. */
export async function refusalAt(endpoint: Endpoint): Promise<string | undefined> {
  const link = linkTo(endpoint);
  const failure = await link.open();
  link.close();
  return failure?.message;
}

/** Sends a command that must work. @throws {FaultNotApplied} with what the server answered */
export async function order(
  { name, link }: DataServer,
  ...command: readonly [string, ...string[]]
): Promise<void> {
  const reply = await link.send(...command);
  if (reply.outcome === 'ok') return;
  throw notApplied(`${name} refused ${command[0]}: ${reply.detail ?? reply.code}`, undefined);
}
