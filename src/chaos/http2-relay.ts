/**
 * A worker's proxy for gRPC (etcd). Splicing TCP would break HPACK and flow control, so it speaks
 * HTTP/2 on both sides and passes messages on one by one: a message is a frame to be counted,
 * delayed, or swallowed, and the connection lives on when one is. Headers and trailers travel with
 * the messages they belong to. Meant for the small messages of lock traffic: it does not push back.
 */
import {
  connect,
  constants,
  createServer,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { displayEndpoint } from '../domain/target.ts';
import type { WireRequest } from '../protocols/protocol.ts';
import { grpcSplitter } from './framing.ts';
import { ProxyFaults, type Exchange } from './proxy-faults.ts';
import type { Direction, RequestAction, TcpProxyOptions, WorkerProxy } from './proxy.ts';

export interface Http2RelayOptions extends Pick<
  TcpProxyOptions,
  'name' | 'upstream' | 'tls' | 'originNs'
> {
  /** Which operation a request message carries out; undefined for handshakes, watches, reads. */
  readonly requestAction: (request: WireRequest) => RequestAction | undefined;
}

/** Listens on a free port of 127.0.0.1. */
export async function startHttp2Relay(options: Http2RelayOptions): Promise<WorkerProxy> {
  const faults = new ProxyFaults(options.name, options.originNs);
  const sessions = new Set<RelaySession>();
  const server = createServer();
  server.on('session', (worker: ServerHttp2Session) => {
    const session = new RelaySession(worker, options, faults);
    sessions.add(session);
    worker.once('close', () => sessions.delete(session));
  });
  const port = await listen(server);
  return {
    name: options.name,
    endpoint: { host: '127.0.0.1', port },
    upstream: options.upstream,
    arm: (rule) => faults.arm(rule),
    cut(way) {
      faults.cut(way);
    },
    delay(way, delayMs) {
      faults.delay(way, delayMs);
    },
    heal() {
      faults.heal();
      for (const session of sessions) if (session.outOfStep) session.destroy();
    },
    counters: (way) => faults.counters(way),
    upstreamAddresses: () => [...sessions].flatMap((session) => session.upstreamAddress ?? []),
    evidence: () => faults.evidence(),
    async close() {
      faults.close();
      for (const session of sessions) session.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
      });
    },
  };
}

function listen(server: Http2Server): Promise<number> {
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

/** One connection of the worker, and ours to the server for it. */
class RelaySession {
  readonly #worker: ServerHttp2Session;
  readonly #server: ClientHttp2Session;
  /** Something was cut from it: its two ends no longer agree on what was said. */
  outOfStep = false;

  constructor(worker: ServerHttp2Session, options: Http2RelayOptions, faults: ProxyFaults) {
    this.#worker = worker;
    const { upstream, tls } = options;
    const scheme = tls === undefined ? 'http' : 'https';
    this.#server = connect(`${scheme}://${displayEndpoint(upstream)}`, tls ?? {});
    // The close that follows is what counts.
    worker.on('error', () => undefined);
    this.#server.on('error', () => undefined);
    worker.on('close', () => {
      this.#server.destroy();
    });
    this.#server.on('close', () => {
      if (faults.isCut('to-worker')) this.outOfStep = true;
      else worker.destroy();
    });
    const lost = (): void => {
      this.outOfStep = true;
    };
    worker.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      // A call that begins during a cut never reaches the server, not even its headers.
      if (this.#server.destroyed || faults.isCut('to-server')) {
        lost();
        stream.on('data', (chunk: Buffer) => {
          faults.received('to-server', chunk.length, 1);
          faults.dropped('to-server', chunk.length);
        });
        return;
      }
      const call = this.#server.request(forwardable(headers), { endStream: false });
      new RelayCall(
        stream,
        call,
        String(headers[constants.HTTP2_HEADER_PATH]),
        options,
        faults,
        lost,
      );
    });
  }

  get upstreamAddress(): string | undefined {
    const { socket } = this.#server;
    if (this.#server.destroyed || socket.localAddress === undefined) return undefined;
    return displayEndpoint({ host: socket.localAddress, port: socket.localPort ?? 0 });
  }

  destroy(): void {
    this.#worker.destroy();
    this.#server.destroy();
  }
}

/** Everything but what belongs to the one connection that it came by. */
function forwardable(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const personal = new Set(['connection', 'host', 'keep-alive', 'transfer-encoding']);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !personal.has(name)));
}

/** One gRPC call: messages up and down, in order, each judged by the faults. */
class RelayCall {
  readonly #worker: ServerHttp2Stream;
  readonly #server: ClientHttp2Stream;
  readonly #faults: ProxyFaults;
  readonly #lost: () => void;
  readonly #exchanges: Exchange[] = [];
  readonly #order: Record<Direction, Promise<void>> = {
    'to-server': Promise.resolve(),
    'to-worker': Promise.resolve(),
  };
  /** A reply of this call was taken away: the call says nothing more to the worker. */
  #mute = false;
  #trailers: IncomingHttpHeaders | undefined;

  constructor(
    worker: ServerHttp2Stream,
    server: ClientHttp2Stream,
    path: string,
    options: Http2RelayOptions,
    faults: ProxyFaults,
    lost: () => void,
  ) {
    this.#worker = worker;
    this.#server = server;
    this.#faults = faults;
    this.#lost = lost;
    server.on('error', () => undefined);
    this.#takeRequests((bytes) => options.requestAction({ bytes, path }));
    this.#takeReplies();
  }

  #takeRequests(actionOf: (bytes: Uint8Array) => RequestAction | undefined): void {
    const splitter = grpcSplitter();
    this.#worker.on('data', (chunk: Buffer) => {
      const messages = splitter.push(chunk);
      this.#faults.received('to-server', chunk.length, messages.length);
      for (const message of messages) this.#request(message, actionOf(message));
    });
    this.#worker.on('end', () => {
      this.#inOrder('to-server', () => {
        if (!this.#server.destroyed) this.#server.end();
      });
    });
    this.#worker.on('close', () => {
      this.#inOrder('to-server', () => {
        if (!this.#server.closed) this.#server.close(this.#worker.rstCode);
      });
    });
  }

  #request(message: Buffer, action: RequestAction | undefined): void {
    const cut = this.#faults.isCut('to-server');
    const exchange = cut ? undefined : this.#faults.request(action);
    if (exchange === undefined) {
      this.#drop('to-server', message.length, cut);
      // The server must not answer to a call without its message.
      this.#mute = true;
      this.#server.close(constants.NGHTTP2_CANCEL);
      return;
    }
    this.#exchanges.push(exchange);
    this.#inOrder('to-server', () => {
      if (this.#server.destroyed) {
        this.#faults.dropped('to-server', message.length);
        return;
      }
      this.#server.write(message);
      this.#faults.forwarded('to-server', message.length);
      exchange.requestBytesForwarded = message.length;
    });
  }

  #takeReplies(): void {
    const splitter = grpcSplitter();
    this.#server.on('response', (headers, flags) => {
      // A refusal has no message: the status comes in the headers, which end the call.
      const whole = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      if (whole) this.#refusal(headers);
      else
        this.#toWorker(0, () => {
          this.#worker.respond(forwardable(headers), { waitForTrailers: true });
        });
    });
    this.#server.on('trailers', (trailers: IncomingHttpHeaders) => {
      this.#trailers = trailers;
    });
    this.#server.on('data', (chunk: Buffer) => {
      const messages = splitter.push(chunk);
      this.#faults.received('to-worker', chunk.length, messages.length);
      for (const message of messages) this.#reply(message);
    });
    this.#worker.on('wantTrailers', () => {
      this.#worker.sendTrailers(forwardable(this.#trailers ?? {}));
    });
    this.#server.on('end', () => {
      this.#toWorker(0, () => this.#worker.end());
    });
    this.#server.on('close', () => {
      const { rstCode } = this.#server;
      if (rstCode === constants.NGHTTP2_NO_ERROR) return;
      this.#toWorker(0, () => {
        this.#worker.close(rstCode);
      });
    });
  }

  #refusal(headers: IncomingHttpHeaders): void {
    const bytes = Buffer.byteLength(JSON.stringify(headers));
    this.#faults.received('to-worker', bytes, 1);
    if (!this.#faults.reply(bytes, this.#exchanges.shift())) this.#mute = true;
    this.#toWorker(bytes, () => {
      this.#worker.respond(forwardable(headers), { endStream: true });
    });
  }

  #reply(message: Buffer): void {
    if (!this.#faults.reply(message.length, this.#exchanges.shift())) this.#mute = true;
    this.#toWorker(message.length, () => {
      this.#worker.write(message);
    });
  }

  /** Passes something on, unless a cut or a swallow forbids it. */
  #toWorker(bytes: number, send: () => void): void {
    const cut = this.#faults.isCut('to-worker');
    if (cut) this.#mute = true;
    if (this.#mute) {
      if (bytes > 0) this.#drop('to-worker', bytes, cut);
      return;
    }
    this.#inOrder('to-worker', () => {
      if (this.#worker.destroyed) {
        if (bytes > 0) this.#faults.dropped('to-worker', bytes);
        return;
      }
      send();
      if (bytes > 0) this.#faults.forwarded('to-worker', bytes);
    });
  }

  /** A swallowed message ends one call; a cut concerns the whole connection. */
  #drop(way: Direction, bytes: number, cut: boolean): void {
    this.#faults.dropped(way, bytes);
    if (cut) this.#lost();
  }

  /** Each after its own delay, in the order in which they came. */
  #inOrder(way: Direction, act: () => void): void {
    const due = performance.now() + this.#faults.delayMs(way);
    this.#order[way] = this.#order[way].then(async () => {
      const leftMs = due - performance.now();
      if (leftMs > 0) await sleep(leftMs);
      act();
    });
  }
}
