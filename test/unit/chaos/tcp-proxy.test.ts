import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { linesFraming } from '../../../src/chaos/framing.ts';
import type { WorkerProxy } from '../../../src/chaos/proxy.ts';
import { startTcpProxy } from '../../../src/chaos/tcp-proxy.ts';
import { until } from '../../helpers/until.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

/** A server that answers `re:LINE` to every line and keeps what it got. */
async function lineServer(): Promise<{ port: number; got: string[]; peers: string[] }> {
  const got: string[] = [];
  const peers: string[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    peers.push(`127.0.0.1:${socket.remotePort}`);
    socket.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.split('\n').filter((part) => part !== '')) {
        got.push(line);
        socket.write(`re:${line}\n`);
      }
    });
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push({
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { port: address.port, got, peers };
}

async function proxyTo(port: number, inOrder: boolean): Promise<WorkerProxy> {
  const proxy = await startTcpProxy({
    name: 'A to lines',
    upstream: { host: '127.0.0.1', port },
    tls: undefined,
    framing: { ...linesFraming, inOrder },
    requestAction: (frame) => (Buffer.from(frame).includes('write') ? 'write' : undefined),
    originNs: 0n,
  });
  open.push(proxy);
  return proxy;
}

function dial(proxy: WorkerProxy): { got: string[]; send(line: string): void; closed: boolean } {
  const socket = connect(proxy.endpoint.port, proxy.endpoint.host);
  const worker = {
    got: [] as string[],
    closed: false,
    send: (line: string) => void socket.write(`${line}\n`),
  };
  socket.setEncoding('utf8').on('data', (text: string) => {
    worker.got.push(...text.split('\n').filter((part) => part !== ''));
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    worker.closed = true;
  });
  open.push({ close: () => socket.destroy() });
  return worker;
}

describe('a worker proxy', () => {
  test('passes everything through, and the server sees the proxy as its client', async () => {
    const server = await lineServer();
    const proxy = await proxyTo(server.port, false);
    const worker = dial(proxy);
    worker.send('hello');
    await until('the reply is there', () => worker.got.length === 1);
    expect(worker.got).toEqual(['re:hello']);
    expect(proxy.upstreamAddresses()).toEqual(server.peers);
    expect(proxy.counters('to-server')).toEqual({
      bytesIn: 6,
      bytesForwarded: 6,
      bytesDropped: 0,
      framesIn: 1,
      framesDropped: 0,
    });
  });

  test('swallows exactly the second matching reply and proves that its request arrived', async () => {
    const server = await lineServer();
    const proxy = await proxyTo(server.port, false);
    const worker = dial(proxy);
    const armed = proxy.arm({ what: 'reply', action: 'write', nth: 2 });
    for (const line of ['write 1', 'ping', 'write 2', 'write 3']) worker.send(line);
    await until('the last reply is there', () => worker.got.includes('re:write 3'));
    expect(worker.got).toEqual(['re:write 1', 're:ping', 're:write 3']);
    expect(server.got).toContain('write 2');
    expect(await armed.hit).toMatchObject({
      requestBytesForwarded: 8,
      replyBytesReceived: 11,
      replyBytesForwarded: 0,
    });
    expect(proxy.evidence()).toMatchObject([{ source: 'proxy A to lines', holds: true }]);
  });

  test('lets no later reply pass for the missing one where replies are taken in order', async () => {
    const server = await lineServer();
    const proxy = await proxyTo(server.port, true);
    const worker = dial(proxy);
    const armed = proxy.arm({ what: 'reply', action: 'write', nth: 1 });
    worker.send('write 1');
    worker.send('ping');
    await armed.hit;
    await until('both replies were dropped', () => proxy.counters('to-worker').framesDropped === 2);
    expect(worker.got).toEqual([]);
    const second = dial(proxy);
    second.send('ping');
    await until('the next connection works', () => second.got.length === 1);
  });

  test('swallows a request, and the server never sees it', async () => {
    const server = await lineServer();
    const proxy = await proxyTo(server.port, false);
    const worker = dial(proxy);
    const armed = proxy.arm({ what: 'request', action: 'write', nth: 1 });
    worker.send('write 1');
    worker.send('ping');
    await until('the next reply is there', () => worker.got.length === 1);
    expect(server.got).toEqual(['ping']);
    expect(await armed.hit).toMatchObject({ requestBytesForwarded: 0, replyBytesReceived: 0 });
  });

  test.each([
    ['to-server', [], []],
    ['to-worker', ['write 1'], []],
  ] as const)('cuts one way only: %s', async (way, atServer, atWorker) => {
    const server = await lineServer();
    const proxy = await proxyTo(server.port, false);
    const worker = dial(proxy);
    worker.send('before');
    await until('the line works', () => worker.got.length === 1);
    proxy.cut(way);
    worker.send('write 1');
    await until('a frame was dropped', () => proxy.counters(way).framesDropped === 1);
    expect(server.got.slice(1)).toEqual(atServer);
    expect(worker.got.slice(1)).toEqual(atWorker);
    expect(proxy.evidence()).toMatchObject([{ holds: true }]);
    proxy.heal();
    await until('the torn connection was closed', () => worker.closed);
    const next = dial(proxy);
    next.send('after');
    await until('a new connection works', () => next.got.length === 1);
  });

  test('a cut that nothing ran into is no evidence', async () => {
    const server = await lineServer();
    const proxy = await proxyTo(server.port, false);
    proxy.cut('both');
    proxy.heal();
    expect(proxy.evidence()).toMatchObject([{ holds: false }]);
  });

  test('delays frames and keeps their order', async () => {
    const server = await lineServer();
    const proxy = await proxyTo(server.port, false);
    const worker = dial(proxy);
    proxy.delay('to-worker', 120);
    const start = performance.now();
    worker.send('one');
    await until('the server has it', () => server.got.length === 1);
    proxy.delay('to-worker', 0);
    worker.send('two');
    await until('both replies are there', () => worker.got.length === 2);
    expect(performance.now() - start).toBeGreaterThan(110);
    expect(worker.got).toEqual(['re:one', 're:two']);
  });

  test('closes the worker when the server cannot be reached, and can itself be closed', async () => {
    const proxy = await proxyTo(1, false);
    const worker = dial(proxy);
    await until('the worker is told', () => worker.closed);
    await proxy.close();
  });

  test('a rule that is disarmed settles without a hit', async () => {
    const server = await lineServer();
    const proxy = await proxyTo(server.port, false);
    const armed = proxy.arm({ what: 'reply', action: undefined, nth: 1 });
    armed.disarm();
    expect(await armed.hit).toBeUndefined();
  });
});
