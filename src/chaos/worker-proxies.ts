/** The proxies of one worker: one to each server of the lock service, one to the resource. */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { displayTarget, type Endpoint, type Target, type TlsOptions } from '../domain/target.ts';
import type { LockProtocol, WireFormat } from '../protocols/protocol.ts';
import { linesFraming, respFraming, zooKeeperFraming, type Framing } from './framing.ts';
import type { WorkerProxy } from './proxy.ts';
import { startTcpProxy } from './tcp-proxy.ts';

export interface WorkerProxies {
  /** Target URL that leads through the proxies; may hold the password. */
  readonly serviceUrl: string;
  /** Empty for a protocol whose wire format no proxy understands: the worker connects directly. */
  readonly service: readonly WorkerProxy[];
  readonly resource: WorkerProxy;
  close(): Promise<void>;
}

const framings: Readonly<Record<WireFormat['framing'], Framing | undefined>> = {
  resp: respFraming,
  zookeeper: zooKeeperFraming,
  grpc: undefined,
};

/** Starts them; `originNs` is the begin of the run on the monotonic clock. */
export async function startWorkerProxies(
  worker: string,
  target: Target,
  protocol: LockProtocol,
  resource: Endpoint,
  originNs: bigint,
): Promise<WorkerProxies> {
  const { wire } = protocol;
  const framing = wire === undefined ? undefined : framings[wire.framing];
  const service: WorkerProxy[] = [];
  if (wire !== undefined && framing !== undefined) {
    for (const upstream of target.endpoints) {
      service.push(
        await startTcpProxy({
          name: `${worker} to ${protocol.family}`,
          upstream,
          tls: target.tls === undefined ? undefined : tlsOptions(target.tls, upstream),
          framing,
          requestAction: (bytes) => wire.requestAction({ bytes }),
          originNs,
        }),
      );
    }
  }
  const toResource = await startTcpProxy({
    name: `${worker} to resource`,
    upstream: resource,
    tls: undefined,
    framing: linesFraming,
    requestAction: () => 'write',
    originNs,
  });
  const [first, ...rest] = service.map(({ endpoint }) => endpoint);
  return {
    serviceUrl: serviceUrl(
      first === undefined ? target : { ...target, tls: undefined, endpoints: [first, ...rest] },
    ),
    service,
    resource: toResource,
    async close() {
      await Promise.all([...service, toResource].map((proxy) => proxy.close()));
    },
  };
}

/** The URL with its password: goes to the worker's standard input and nowhere else. */
function serviceUrl(target: Target): string {
  const url = displayTarget(target);
  if (target.password === undefined) return url;
  const secret = `:${encodeURIComponent(target.password.reveal())}@`;
  return target.username === undefined
    ? url.replace('://', `://${secret}`)
    : url.replace('@', secret);
}

function tlsOptions(tls: TlsOptions, { host }: Endpoint): ConnectionOptions {
  return {
    servername: tls.serverName ?? host,
    ...(tls.caFile === undefined ? {} : { ca: readFileSync(tls.caFile) }),
    ...(tls.certFile === undefined ? {} : { cert: readFileSync(tls.certFile) }),
    ...(tls.keyFile === undefined ? {} : { key: readFileSync(tls.keyFile) }),
  };
}
