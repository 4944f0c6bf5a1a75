/**
 * A worker's proxy for protocols that are a plain byte stream split by a `Framing`. One TCP
 * connection to the server for each of the worker's, so the server sees the proxy as its client.
 */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Evidence } from '../domain/evidence.ts';
import { displayEndpoint } from '../domain/target.ts';
import { ProxyConnection } from './proxy-connection.ts';
import { ProxyFaults } from './proxy-faults.ts';
import type {
  ArmedSwallow,
  Direction,
  SwallowRule,
  TcpProxyOptions,
  WorkerProxy,
} from './proxy.ts';

/** Listens on a free port of 127.0.0.1. */
export async function startTcpProxy(options: TcpProxyOptions): Promise<WorkerProxy> {
  const faults = new ProxyFaults(options.name, options.originNs);
  const connections = new Set<ProxyConnection>();
  const server = createServer((worker: Socket) => {
    const connection = new ProxyConnection(worker, options, faults);
    connections.add(connection);
    connection.onClosed(() => connections.delete(connection));
  });
  const port = await listen(server);
  return {
    name: options.name,
    endpoint: { host: '127.0.0.1', port },
    upstream: options.upstream,
    arm: (rule: SwallowRule): ArmedSwallow => faults.arm(rule),
    cut(way: Direction | 'both') {
      faults.cut(way);
    },
    delay(way: Direction, delayMs: number) {
      faults.delay(way, delayMs);
    },
    heal() {
      faults.heal();
      for (const connection of connections) if (connection.outOfStep) connection.destroy();
    },
    counters: (way: Direction) => faults.counters(way),
    upstreamAddresses: () =>
      [...connections].flatMap(({ upstreamAddress }) =>
        upstreamAddress === undefined ? [] : [displayEndpoint(upstreamAddress)],
      ),
    evidence: (): readonly Evidence[] => faults.evidence(),
    async close() {
      faults.close();
      for (const connection of connections) connection.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
      });
    },
  };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      resolve(portOf(server.address()));
    });
  });
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  return address.port;
}
