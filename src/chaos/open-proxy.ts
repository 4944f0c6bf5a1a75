/** Opens the proxies of one worker: to each endpoint of the lock service, and to the resource. */
import {
  displayEndpoint,
  urlWithoutPassword,
  type Endpoint,
  type NatEntry,
  type Target,
} from '../domain/target.ts';
import type { WireFormat } from '../protocols/protocol.ts';
import { tlsOptions } from '../protocols/tls-options.ts';
import {
  linesFraming,
  rawFraming,
  respFraming,
  zooKeeperFraming,
  type Framing,
} from './framing.ts';
import { startHttp2Relay } from './http2-relay.ts';
import type { WorkerProxy } from './proxy.ts';
import { startTcpProxy } from './tcp-proxy.ts';

/** gRPC is no byte stream that could be split: it has a relay of its own. */
const framings: Readonly<Record<Exclude<WireFormat['framing'], 'grpc'>, Framing>> = {
  resp: respFraming,
  zookeeper: zooKeeperFraming,
};

/**
 * A worker's proxies to every endpoint of `target`, in its order, then to the servers that these send
 * clients to; and the URL that leads through them all.
 */
export async function openServiceProxies(
  worker: string,
  target: Target,
  wire: WireFormat | undefined,
  originNs: bigint,
  servers: readonly NatEntry[] = [],
): Promise<{ readonly proxies: readonly WorkerProxy[]; readonly url: string }> {
  const tls = target.tls === undefined ? undefined : tlsOptions(target.tls);
  const open = (upstream: Endpoint, index: number): Promise<WorkerProxy> => {
    const name =
      target.endpoints.length === 1 ? `${worker} to service` : `${worker} to service ${index + 1}`;
    const common = { name, upstream, tls, originNs };
    if (wire?.framing === 'grpc') {
      return startHttp2Relay({
        ...common,
        requestAction: (request) => wire.requestAction(request),
      });
    }
    return startTcpProxy({
      ...common,
      framing: wire === undefined ? rawFraming : framings[wire.framing],
      requestAction: (bytes) => wire?.requestAction({ bytes }),
    });
  };
  const proxies = new Map<string, WorkerProxy>();
  for (const upstream of [...target.endpoints, ...servers.map(({ reachable }) => reachable)]) {
    const name = displayEndpoint(upstream);
    if (!proxies.has(name)) proxies.set(name, await open(upstream, proxies.size));
  }
  const through = (upstream: Endpoint): Endpoint =>
    proxies.get(displayEndpoint(upstream))?.endpoint ?? upstream;
  const [first, ...rest] = target.endpoints;
  const seen: Target = {
    ...target,
    endpoints: [through(first), ...rest.map(through)],
    natMap: servers.map(({ announced, reachable }) => ({
      announced,
      reachable: through(reachable),
    })),
  };
  return { proxies: [...proxies.values()], url: serviceUrl(seen) };
}

/** A worker's proxy to the business resource. */
export function openResourceProxy(
  worker: string,
  upstream: Endpoint,
  originNs: bigint,
): Promise<WorkerProxy> {
  return startTcpProxy({
    name: `${worker} to resource`,
    upstream,
    tls: undefined,
    framing: linesFraming,
    requestAction: (frame) => (Buffer.from(frame).includes('"kind":"write"') ? 'write' : undefined),
    originNs,
  });
}

/** The target as a worker sees it: clear text to the proxies. Holds the password: never print it. */
function serviceUrl(target: Target): string {
  const shown = urlWithoutPassword({ ...target, tls: undefined });
  if (target.password === undefined) return shown;
  const user = encodeURIComponent(target.username ?? '');
  const secret = encodeURIComponent(target.password.reveal());
  return shown.replace(/^([a-z+]+:\/\/)(?:[^@/]*@)?/, (_, scheme) => `${scheme}${user}:${secret}@`);
}
