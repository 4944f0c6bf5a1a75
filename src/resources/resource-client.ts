/**
 * A worker's connection to the business resource. One call is one request; a reply that does not
 * come makes the outcome unknown, and the connection, being out of step, is dropped.
 */
import { connect, type Socket } from 'node:net';
import { z } from 'zod';
import { LineSplitter } from '../domain/line-splitter.ts';
import type { Endpoint } from '../domain/target.ts';
import { stringToText } from '../domain/text.ts';
import {
  readReply,
  writeReply,
  type ReadReply,
  type ReadRequest,
  type ResourceRequest,
  type WriteReply,
  type WriteRequest,
} from './resource.ts';

/** `fail` means that nothing was written; a refusal comes as `ok` with `accepted: false`. */
export type ResourceOutcome<T> =
  | { readonly outcome: 'ok'; readonly reply: T }
  | { readonly outcome: 'fail' | 'unknown'; readonly code: string; readonly detail?: string };

const anyReply = z.looseObject({ requestId: z.string() });

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export class ResourceClient {
  readonly #endpoint: Endpoint;
  readonly #timeoutMs: number;
  readonly #waiting = new Map<string, Waiting>();
  #socket: Socket | undefined;

  constructor(endpoint: Endpoint, timeoutMs: number) {
    this.#endpoint = endpoint;
    this.#timeoutMs = timeoutMs;
  }

  write(request: WriteRequest): Promise<ResourceOutcome<WriteReply>> {
    return this.call(request, writeReply);
  }

  read(request: ReadRequest): Promise<ResourceOutcome<ReadReply>> {
    return this.call(request, readReply);
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  /** Sends `request` and parses its reply as `shape`. Never rejects. */
  async call<T>(request: ResourceRequest, shape: z.ZodType<T>): Promise<ResourceOutcome<T>> {
    let socket: Socket;
    try {
      socket = this.#socket ?? (await this.#open());
    } catch (error) {
      return { outcome: 'fail', code: 'connect-failed', detail: messageOf(error) };
    }
    try {
      return { outcome: 'ok', reply: shape.parse(await this.#exchange(socket, request)) };
    } catch (error) {
      socket.destroy();
      const code = error instanceof Lost ? error.code : 'bad-reply';
      return { outcome: 'unknown', code, detail: messageOf(error) };
    }
  }

  #open(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: this.#endpoint.host, port: this.#endpoint.port });
      socket.setNoDelay(true);
      socket.setEncoding('utf8');
      socket.setTimeout(this.#timeoutMs, () => {
        if (socket.connecting) socket.destroy(new Error('connecting took too long'));
      });
      socket.once('error', reject);
      socket.once('connect', () => {
        this.#socket = socket;
        resolve(socket);
      });
      const lines = new LineSplitter();
      socket.on('data', (chunk: string) => {
        try {
          for (const line of lines.push(chunk)) this.#arrived(line);
        } catch {
          // Not a reply of ours: whoever waits gets `connection-lost`, so an unknown outcome.
          socket.destroy();
        }
      });
      socket.once('close', () => {
        if (this.#socket === socket) this.#socket = undefined;
        for (const waiting of this.#waiting.values()) waiting.reject(new Lost('connection-lost'));
      });
    });
  }

  #arrived(line: string): void {
    const reply = anyReply.parse(JSON.parse(line));
    this.#waiting.get(reply.requestId)?.resolve(reply);
  }

  #exchange(socket: Socket, request: { readonly requestId: string }): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const { requestId } = request;
      // A process that was stopped finds its timer overdue: one more turn reads what has arrived.
      const timer = setTimeout(() => {
        setImmediate(() => {
          reject(new Lost('timeout'));
        });
      }, this.#timeoutMs);
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(requestId);
      };
      this.#waiting.set(requestId, {
        resolve: (value) => {
          done();
          resolve(value);
        },
        reject: (error) => {
          done();
          reject(error);
        },
      });
      socket.write(`${JSON.stringify(request)}\n`);
    });
  }
}

class Lost extends Error {
  readonly code: 'timeout' | 'connection-lost';
  constructor(code: 'timeout' | 'connection-lost') {
    super(code === 'timeout' ? 'no reply in time' : 'the connection ended before the reply');
    this.code = code;
  }
}

function messageOf(error: unknown): string {
  return stringToText(error instanceof Error ? error.message : String(error));
}
