/** The proxies of one worker together: to each server of the lock service, and to the resource. */
import type { Endpoint, NatEntry, Target } from '../domain/target.ts';
import type { LockProtocol } from '../protocols/protocol.ts';
import { openResourceProxy, openServiceProxies } from './open-proxy.ts';
import type { WorkerProxy } from './proxy.ts';

export interface WorkerProxies {
  /** Target URL that leads through the proxies; may hold the password. */
  readonly serviceUrl: string;
  /** In the order of the target's endpoints, then the servers that these send clients to. */
  readonly service: readonly WorkerProxy[];
  readonly resource: WorkerProxy;
  close(): Promise<void>;
}

/** Starts them; `originNs` is the begin of the run on the monotonic clock. */
export async function startWorkerProxies(
  worker: string,
  target: Target,
  protocol: LockProtocol,
  resource: Endpoint,
  originNs: bigint,
  servers: readonly NatEntry[] = [],
): Promise<WorkerProxies> {
  const service = await openServiceProxies(worker, target, protocol.wire, originNs, servers);
  const toResource = await openResourceProxy(worker, resource, originNs);
  return {
    serviceUrl: service.url,
    service: service.proxies,
    resource: toResource,
    async close() {
      await Promise.all([...service.proxies, toResource].map((proxy) => proxy.close()));
    },
  };
}
