/** One connection of a worker through its proxy: frames paired, judged, delayed, forwarded. */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import type { Endpoint } from '../domain/target.ts';
import type { Exchange, ProxyFaults } from './proxy-faults.ts';
import type { Direction, TcpProxyOptions } from './proxy.ts';

export class ProxyConnection {
  readonly #worker: Socket;
  readonly #server: Socket;
  readonly #options: TcpProxyOptions;
  readonly #faults: ProxyFaults;
  readonly #waiting = new Map<string, Exchange[]>();
  readonly #order: Record<Direction, Promise<void>> = {
    'to-server': Promise.resolve(),
    'to-worker': Promise.resolve(),
  };
  /** A reply is missing and the worker takes replies in order: none may pass any more. */
  #mute = false;
  #outOfStep = false;

  constructor(worker: Socket, options: TcpProxyOptions, faults: ProxyFaults) {
    this.#worker = worker;
    this.#options = options;
    this.#faults = faults;
    // Nothing is taken from the worker, so nothing is counted, before there is a server to send to.
    worker.pause();
    worker.setNoDelay(true);
    const { upstream, tls } = options;
    const resume = (): void => {
      this.#server.setNoDelay(true);
      worker.resume();
    };
    this.#server =
      tls === undefined
        ? connect({ host: upstream.host, port: upstream.port }, resume)
        : connectTls({ ...tls, host: upstream.host, port: upstream.port }, resume);
    this.#pump(worker, 'to-server', (frame) => {
      this.#request(frame);
    });
    this.#pump(this.#server, 'to-worker', (frame) => {
      this.#reply(frame);
    });
  }

  /** Bytes were lost on it: its two ends no longer agree on what was said. */
  get outOfStep(): boolean {
    return this.#outOfStep;
  }

  /** Our end of the connection to the server. */
  get upstreamAddress(): Endpoint | undefined {
    const { localAddress: host, localPort: port } = this.#server;
    return host === undefined || port === undefined ? undefined : { host, port };
  }

  /** Calls `listener` once both sides are closed. */
  onClosed(listener: () => void): void {
    let open = 2;
    for (const side of [this.#worker, this.#server]) {
      side.once('close', () => {
        open -= 1;
        if (open === 0) listener();
      });
    }
  }

  destroy(): void {
    this.#worker.destroy();
    this.#server.destroy();
  }

  #pump(source: Socket, way: Direction, take: (frame: Buffer) => void): void {
    const splitter = this.#options.framing.splitter();
    source.on('data', (chunk: Buffer) => {
      const frames = splitter.push(chunk);
      this.#faults.received(way, chunk.length, frames.length);
      frames.forEach(take);
    });
    // The close that follows is what counts; a worker that was killed resets its connections.
    source.on('error', () => undefined);
    source.on('close', () => {
      void this.#passOnClose(way);
    });
  }

  /** A cut hides the end of a connection, too: the other side learns of it when the cut heals. */
  async #passOnClose(way: Direction): Promise<void> {
    await this.#order[way];
    if (this.#faults.isCut(way)) {
      this.#outOfStep = true;
      return;
    }
    const target = way === 'to-server' ? this.#server : this.#worker;
    target.end();
    // Paused, it would never see the other side's end.
    target.resume();
  }

  #request(frame: Buffer): void {
    const { framing, requestAction } = this.#options;
    const exchange = this.#faults.isCut('to-server')
      ? undefined
      : this.#faults.request(requestAction(frame));
    if (exchange === undefined) {
      this.#drop('to-server', frame);
      return;
    }
    const key = framing.pairKey(frame, 'to-server');
    if (key !== undefined) this.#waiting.set(key, [...(this.#waiting.get(key) ?? []), exchange]);
    this.#forward('to-server', frame, () => {
      exchange.requestBytesForwarded = frame.length;
    });
  }

  #reply(frame: Buffer): void {
    const { framing } = this.#options;
    const key = framing.pairKey(frame, 'to-worker');
    const exchange = key === undefined ? undefined : this.#waiting.get(key)?.shift();
    const passes = this.#faults.reply(frame.length, exchange);
    if (!passes && framing.inOrder) this.#mute = true;
    if (passes && !this.#mute && !this.#faults.isCut('to-worker'))
      this.#forward('to-worker', frame);
    else this.#drop('to-worker', frame);
  }

  #drop(way: Direction, frame: Buffer): void {
    this.#outOfStep = true;
    this.#faults.dropped(way, frame.length);
  }

  /** Frames of one way leave in the order they came, each after its own delay. */
  #forward(way: Direction, frame: Buffer, sent?: () => void): void {
    const delayMs = this.#faults.delayMs(way);
    const due = performance.now() + delayMs;
    const send = (): void => {
      const target = way === 'to-server' ? this.#server : this.#worker;
      if (!target.writable) {
        this.#faults.dropped(way, frame.length);
        return;
      }
      target.write(frame);
      this.#faults.forwarded(way, frame.length);
      sent?.();
    };
    this.#order[way] = this.#order[way].then(async () => {
      const leftMs = due - performance.now();
      if (leftMs > 0) await sleep(leftMs);
      send();
    });
  }
}
