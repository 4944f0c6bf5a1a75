/** Stands in for a server that is gone: every connection to its address goes to another one. */
import { connect, createServer, type Socket } from 'node:net';
import type { Endpoint } from '../../domain/target.ts';

export interface MovedAddress {
  close(): Promise<void>;
}

/** Listens at `from`, which must be free, until it is closed. */
export async function moveAddress(from: Endpoint, to: Endpoint): Promise<MovedAddress> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect({ host: to.host, port: to.port });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.pipe(other);
      // The close that follows is what counts.
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(from.port, from.host, resolve);
  });
  return {
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
      });
    },
  };
}
