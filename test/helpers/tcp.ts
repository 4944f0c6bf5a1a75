/** Small TCP servers for tests: one that never answers, and a relay that can lose what it carries. */
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';

export interface TestServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** Accepts connections and never says a word. */
export function silentServer(): Promise<TestServer> {
  return listen(() => undefined);
}

/** A port on which nothing listens: taken and given back. */
export async function deadPort(): Promise<number> {
  const server = await listen(() => undefined);
  await server.stop();
  return server.port;
}

export interface Relay extends TestServer {
  /** From now on nothing that the server says reaches the client. */
  swallowReplies(): void;
  /** Closes the connections that are open, and carries new ones faithfully. */
  cut(): void;
}

/** Carries bytes between clients and `upstreamPort`; `onRequest` sees what clients send. */
export async function relay(
  upstreamPort: number,
  onRequest: (bytes: Buffer, relay: Pick<Relay, 'swallowReplies'>) => void = () => undefined,
): Promise<Relay> {
  let swallowing = false;
  const pairs = new Set<readonly [Socket, Socket]>();
  const controls = {
    swallowReplies: () => {
      swallowing = true;
    },
    cut: () => {
      swallowing = false;
      for (const pair of pairs) for (const socket of pair) socket.destroy();
    },
  };
  const server = await listen((client) => {
    const upstream = connect(upstreamPort, '127.0.0.1');
    const pair = [client, upstream] as const;
    pairs.add(pair);
    client.on('data', (bytes) => {
      onRequest(bytes, controls);
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (!swallowing) client.write(bytes);
    });
    for (const socket of pair) {
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        pairs.delete(pair);
        for (const other of pair) other.destroy();
      });
    }
  });
  return { ...server, ...controls };
}

async function listen(onConnection: (socket: Socket) => void): Promise<TestServer> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy());
    onConnection(socket);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy();
        server.close(() => {
          resolve();
        });
      }),
  };
}
