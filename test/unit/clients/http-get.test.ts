import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { httpGet } from '../../../src/clients/http-get.ts';

const answers: Readonly<Record<string, (reply: ServerResponse) => void>> = {
  '/whole': (reply) => reply.end('all of it'),
  '/refused': (reply) => reply.writeHead(403).end('no'),
  '/cut': (reply) => {
    reply.writeHead(200, { 'content-length': '100' });
    reply.write('half', () => reply.destroy());
  },
  '/endless': (reply) => reply.writeHead(200).write('x'.repeat(2000)),
};

const server = createServer((request, reply) => answers[request.url ?? '']?.(reply));

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function get(path: string, limits = { timeoutMs: 5000, maxBodyBytes: 1000 }): Promise<string> {
  const { port } = server.address() as AddressInfo;
  return httpGet({ host: '127.0.0.1', port }, path, limits);
}

describe('a GET of what a server tells over HTTP', () => {
  test('gives the whole body', async () => {
    await expect(get('/whole')).resolves.toBe('all of it');
  });

  test('fails, and never waits for ever, when the connection ends within the body', async () => {
    await expect(get('/cut')).rejects.toThrow('aborted');
  });

  test('fails when the answer is refused, too large, or not whole in time', async () => {
    await expect(get('/refused')).rejects.toThrow('answered HTTP 403');
    await expect(get('/endless')).rejects.toThrow('answer too large');
    const slow = { timeoutMs: 50, maxBodyBytes: 10_000 };
    await expect(get('/endless', slow)).rejects.toThrow(/abort/);
  });
});
