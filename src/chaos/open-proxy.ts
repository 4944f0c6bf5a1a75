/** Opens the proxies of one worker: to each endpoint of the lock service, and to the resource. */
import { displayTarget, type Endpoint, type Target } from '../domain/target.ts';
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

/** A worker's proxies to every endpoint of `target`, in its order, and the URL through them. */
export async function openServiceProxies(
  worker: string,
  target: Target,
  wire: WireFormat | undefined,
  originNs: bigint,
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
  const [first, ...rest] = target.endpoints;
  const firstProxy = await open(first, 0);
  const others = await Promise.all(rest.map((upstream, index) => open(upstream, index + 1)));
  const endpoints = [firstProxy.endpoint, ...others.map((proxy) => proxy.endpoint)] as const;
  return { proxies: [firstProxy, ...others], url: serviceUrl(target, endpoints) };
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
function serviceUrl(target: Target, endpoints: Target['endpoints']): string {
  const shown = displayTarget({ ...target, endpoints, tls: undefined });
  if (target.password === undefined) return shown;
  const user = encodeURIComponent(target.username ?? '');
  const secret = encodeURIComponent(target.password.reveal());
  return shown.replace(/^([a-z+]+:\/\/)(?:[^@/]*@)?/, (_, scheme) => `${scheme}${user}:${secret}@`);
}
