/**
 * A relay in front of a lab's etcd that counts the requests of each kind and can do something
 * between a request's leaving the client and its reaching the server.
 */
import { startHttp2Relay } from '../../../src/chaos/http2-relay.ts';
import type { WorkerProxy } from '../../../src/chaos/proxy.ts';
import { parseTarget } from '../../../src/domain/target.ts';
import { etcdWire } from '../../../src/protocols/etcd-client.ts';

export interface CountingRelay {
  readonly proxy: WorkerProxy;
  /** `etcd://127.0.0.1:port`, with `user:password@` when the target had it. */
  readonly url: string;
  /** How often a gRPC method was called so far, e.g. `Txn`. */
  count(method: string): number;
  /** Does `act` while the next request of this method is on its way; the request waits for it. */
  before(method: string, act: () => Promise<unknown>): void;
  /** The same for every request of this method, until `stop`. */
  beforeEach(method: string, act: () => Promise<unknown>): void;
  /** Ends what `beforeEach` began. */
  stop(): void;
  close(): Promise<void>;
}

/** A request that something is done before waits for so long. */
const heldMs = 250;

export async function countingRelay(url: string): Promise<CountingRelay> {
  const target = parseTarget(url);
  const counts = new Map<string, number>();
  const waiting: { readonly method: string; readonly act: () => Promise<unknown> }[] = [];
  const standing: typeof waiting = [];
  const failures: unknown[] = [];
  const act = (what: () => Promise<unknown>): void => {
    proxy.delay('to-server', heldMs);
    what()
      .catch((error: unknown) => failures.push(error))
      .finally(() => {
        proxy.delay('to-server', 0);
      });
  };
  const proxy = await startHttp2Relay({
    name: 'test to etcd',
    upstream: target.endpoints[0],
    tls: undefined,
    originNs: 0n,
    requestAction(request) {
      const method = request.path?.split('/').at(-1) ?? '';
      counts.set(method, (counts.get(method) ?? 0) + 1);
      const at = waiting.findIndex((one) => one.method === method);
      const next = waiting.splice(at, at === -1 ? 0 : 1)[0];
      if (next !== undefined) act(next.act);
      for (const one of standing) if (one.method === method) act(one.act);
      return etcdWire.requestAction(request);
    },
  });
  const { port } = proxy.endpoint;
  return {
    proxy,
    url: url.replace(/@.*|\/\/[^@]*$/, (rest) =>
      rest.startsWith('@') ? `@127.0.0.1:${port}` : `//127.0.0.1:${port}`,
    ),
    count: (method) => counts.get(method) ?? 0,
    before(method, what) {
      waiting.push({ method, act: what });
    },
    beforeEach(method, what) {
      standing.push({ method, act: what });
    },
    stop() {
      standing.length = 0;
    },
    async close() {
      await proxy.close();
      if (failures.length > 0)
        throw new AggregateError(failures, 'what was done in between failed');
    },
  };
}
