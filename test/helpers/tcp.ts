/** Small TCP servers for tests: one that never answers, and a relay that can lose what it carries. */
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';

export interface TestServer {
  readonly port: number;
  /** Connections accepted so far. */
  accepted(): number;
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

export interface RelayedConnection {
  /** From now on nothing that the server says on this connection reaches the client. */
  swallowReplies(): void;
  /** The same for every connection, also later ones. */
  swallowAllReplies(): void;
}

/** Carries bytes between clients and `upstreamPort`; `onRequest` sees what clients send. */
export async function relay(
  upstreamPort: number,
  onRequest: (bytes: Buffer, connection: RelayedConnection) => void,
): Promise<TestServer> {
  let silent = false;
  return listen((client) => {
    let swallowing = false;
    const upstream = connect(upstreamPort, '127.0.0.1');
    const control = {
      swallowReplies: () => {
        swallowing = true;
      },
      swallowAllReplies: () => {
        silent = true;
      },
    };
    client.on('data', (bytes) => {
      onRequest(bytes, control);
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (!swallowing && !silent) client.write(bytes);
    });
    upstream.on('error', () => client.destroy());
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
  });
}

async function listen(onConnection: (socket: Socket) => void): Promise<TestServer> {
  const open = new Set<Socket>();
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
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
    accepted: () => accepted,
    stop: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy();
        server.close(() => {
          resolve();
        });
      }),
  };
}
