/**
 * A relay in front of one ZooKeeper member that counts requests of each kind, can do something while
 * one request is on its way to the server, and can lose a request or its reply.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { zooKeeperFraming } from '../../../src/chaos/framing.ts';
import { parseTarget } from '../../../src/domain/target.ts';

const opcodes = {
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  multi: 14,
} as const;
type Request = keyof typeof opcodes;

/** `request-lost`: the connection ends before it arrives; `reply-lost`: it arrives, and nobody hears. */
export type Fate = 'passes' | 'request-lost' | 'reply-lost';

interface Waiting {
  readonly request: Request;
  readonly path: string;
  readonly act: () => Promise<Fate>;
}

export interface ZooKeeperRelay {
  /** `zk://127.0.0.1:port?admin=…`, or with `user:password@`. */
  url(credentials?: string): string;
  /** Requests of this kind so far, from all clients of the relay. */
  count(request: Request): number;
  /** Does `act` while the next request of this kind on this path is on its way, and decides its fate. */
  next(request: Request, path: string, act: () => Promise<Fate>): void;
  close(): Promise<void>;
}

export async function zooKeeperRelay(upstreamUrl: string): Promise<ZooKeeperRelay> {
  const target = parseTarget(upstreamUrl);
  const counts = new Map<number, number>();
  const waiting: Waiting[] = [];
  const open = new Set<Socket>();

  const fateOf = async (frame: Buffer): Promise<Fate> => {
    const type = frame.length >= 12 ? frame.readInt32BE(8) : -1;
    counts.set(type, (counts.get(type) ?? 0) + 1);
    const at = waiting.findIndex(
      (one) => opcodes[one.request] === type && pathOf(frame) === one.path,
    );
    return at === -1 ? 'passes' : (waiting.splice(at, 1)[0]?.act() ?? 'passes');
  };

  const carry = (client: Socket): void => {
    const upstream = connect(target.endpoints[0].port, target.endpoints[0].host);
    const splitter = zooKeeperFraming.splitter();
    let deaf = false;
    let turn = Promise.resolve();
    let first = true;
    const pass = async (frame: Buffer): Promise<void> => {
      // The connect request has no type.
      const fate = first ? 'passes' : await fateOf(frame);
      first = false;
      if (fate === 'request-lost') {
        client.destroy();
        return;
      }
      deaf ||= fate === 'reply-lost';
      upstream.write(frame);
    };
    client.on('data', (bytes) => {
      for (const frame of splitter.push(bytes)) turn = turn.then(() => pass(frame));
    });
    upstream.on('data', (bytes) => {
      if (!deaf) client.write(bytes);
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(one);
      one.on('error', () => one.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
    }
  };

  const server = createServer(carry);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: (credentials) =>
      `zk://${credentials === undefined ? '' : `${credentials}@`}127.0.0.1:${port}?admin=${target.adminPorts.join(',')}`,
    count: (request) => counts.get(opcodes[request]) ?? 0,
    next(request, path, act) {
      waiting.push({ request, path, act });
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy();
        server.close(() => {
          resolve();
        });
      }),
  };
}

/** Every request with a path begins its body with it. */
function pathOf(frame: Buffer): string {
  const length = frame.length >= 16 ? frame.readInt32BE(12) : 0;
  return frame.toString('utf8', 16, 16 + Math.max(0, length));
}
