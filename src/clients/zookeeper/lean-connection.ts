/**
 * One connection of one ZooKeeper session on which nothing leaves that the caller did not ask for:
 * no pings, no reconnecting, nothing sent again. A lock client counts its lease from the sending of
 * the last request that was answered, so it must know of every request. Replies come in order: once
 * one is missing, the connection is given up.
 */
import type { Socket } from 'node:net';
import type { Target } from '../../domain/target.ts';
import { answerError } from './answers.ts';
import { isNodeError, toFencepostError, zooKeeperCodes } from './errors.ts';
import { JuteReader, JuteWriter } from './jute.ts';
import type { NodeStat } from './session.ts';

/** Who knows both can take the session over. */
export interface SessionIdentity {
  readonly id: bigint;
  readonly password: Buffer;
}

/** A watch, delivered once. */
export interface WatchEvent {
  readonly type: 'created' | 'deleted' | 'changed' | 'children';
  readonly path: string;
}

/** How a node is made: it lives with its session, and may get a number from its parent. */
export type CreateMode = 'persistent' | 'ephemeral' | 'ephemeral-sequential';

const createFlags: Readonly<Record<CreateMode, number>> = {
  persistent: 0,
  ephemeral: 1,
  'ephemeral-sequential': 3,
};

/** Operation numbers, also for whoever reads our requests on the wire. */
export const operations = {
  create: 1,
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  sync: 9,
  ping: 11,
  getChildren2: 12,
  auth: 100,
  closeSession: -11,
} as const;

/** Numbers of exchanges that are not counted up. `connect` has none: its first field is 0. */
const fixedXids = { watchEvent: -1, ping: -2, auth: -4 } as const;

const eventTypes: Readonly<Record<number, WatchEvent['type']>> = {
  1: 'created',
  2: 'deleted',
  3: 'changed',
  4: 'children',
};

interface Pending {
  readonly xid: number;
  readonly path: string;
  readonly timer: NodeJS.Timeout;
  readonly resolve: (reader: JuteReader) => void;
  readonly reject: (error: unknown) => void;
}

export interface LeanOptions {
  readonly target: Target;
  readonly session: SessionIdentity;
  /** Session timeout that the server granted, in ms. */
  readonly sessionTimeoutMs: number;
  /** Highest transaction seen on an earlier connection of the session. */
  readonly lastZxid: bigint;
  /** Of each request; an unanswered one ends the connection. */
  readonly requestTimeoutMs: number;
}

/** Paths are below the target's chroot. Every call rejects with a FencepostError. */
export class LeanConnection {
  readonly session: SessionIdentity;
  readonly sessionTimeoutMs: number;
  readonly #socket: Socket;
  readonly #options: LeanOptions;
  readonly #chroot: string;
  readonly #pending: Pending[] = [];
  readonly #eventListeners: ((event: WatchEvent) => void)[] = [];
  readonly #closeListeners: ((byUs: boolean) => void)[] = [];
  #xid = 0;
  #lastZxid: bigint;
  #over: string | undefined;

  /** @param socket whose connect request was answered */
  constructor(socket: Socket, options: LeanOptions) {
    this.#socket = socket;
    this.#options = options;
    this.session = options.session;
    this.sessionTimeoutMs = options.sessionTimeoutMs;
    this.#chroot = chrootOf(options.target);
    this.#lastZxid = options.lastZxid;
    socket.on('close', () => {
      this.#end('the server closed the connection', false);
    });
  }

  /** Whether it can no longer be used. */
  get closed(): boolean {
    return this.#over !== undefined;
  }

  /** Highest transaction that a server has shown to this session. */
  get lastZxid(): bigint {
    return this.#lastZxid;
  }

  onEvent(listener: (event: WatchEvent) => void): void {
    this.#eventListeners.push(listener);
  }

  /** Told once. `byUs`: given up, by `drop` or because an answer did not come. */
  onClosed(listener: (byUs: boolean) => void): void {
    this.#closeListeners.push(listener);
  }

  /** @returns the path of the node, with its number if it got one */
  async create(path: string, data: Uint8Array, mode: CreateMode): Promise<string> {
    const reply = await this.#request(operations.create, path, (body) => {
      body.bytes(data);
      // One entry: everybody may do everything, as Curator and kazoo write it.
      body.int(1).int(31).string('world').string('anyone');
      body.int(createFlags[mode]);
    });
    return this.#below(reply.string());
  }

  /** @param version -1: any */
  async remove(path: string, version: number): Promise<void> {
    await this.#request(operations.delete, path, (body) => body.int(version));
  }

  /** Undefined when there is no such node; a watch then tells of its creation. */
  async exists(path: string, watch = false): Promise<NodeStat | undefined> {
    try {
      return (await this.#request(operations.exists, path, (body) => body.bool(watch))).stat();
    } catch (error) {
      if (isNodeError(error, zooKeeperCodes.noNode)) return undefined;
      throw error;
    }
  }

  async getData(path: string, watch = false): Promise<{ data: Buffer; stat: NodeStat }> {
    const reply = await this.#request(operations.getData, path, (body) => body.bool(watch));
    return { data: reply.bytes(), stat: reply.stat() };
  }

  /** @param version -1: any */
  async setData(path: string, data: Uint8Array, version: number): Promise<NodeStat> {
    const reply = await this.#request(operations.setData, path, (body) =>
      body.bytes(data).int(version),
    );
    return reply.stat();
  }

  async getChildren(path: string, watch = false): Promise<{ children: string[]; stat: NodeStat }> {
    const reply = await this.#request(operations.getChildren2, path, (body) => body.bool(watch));
    return { children: reply.strings(), stat: reply.stat() };
  }

  /** What is read after it is at least as new as it. */
  async sync(path: string): Promise<void> {
    await this.#request(operations.sync, path);
  }

  async ping(): Promise<void> {
    await this.#exchange(frameOf(fixedXids.ping, operations.ping), fixedXids.ping, '');
  }

  /** @throws {FencepostError} `zookeeper-auth-failed` */
  async authenticate(user: string, password: string): Promise<void> {
    const frame = frameOf(fixedXids.auth, operations.auth, (body) => {
      body.int(0).string('digest').string(`${user}:${password}`);
    });
    await this.#exchange(frame, fixedXids.auth, '');
  }

  /** Ends the session on the server, and with it its ephemeral nodes. */
  async closeSession(): Promise<void> {
    const xid = this.#nextXid();
    await this.#exchange(frameOf(xid, operations.closeSession), xid, '');
  }

  /** Ends the connection only: the session goes on until its timeout. Idempotent. */
  drop(reason: string): void {
    this.#end(reason);
  }

  /** One frame from the server. */
  receive(frame: Buffer): void {
    try {
      this.#take(new JuteReader(frame));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#end('the server sent a frame that could not be read');
    }
  }

  #take(reader: JuteReader): void {
    const [xid, zxid, number] = [reader.int(), reader.long(), reader.int()];
    if (xid === fixedXids.watchEvent) {
      const type = eventTypes[reader.int()];
      reader.int(); // state of the session
      const path = this.#below(reader.string());
      if (type !== undefined) for (const listener of this.#eventListeners) listener({ type, path });
      return;
    }
    if (zxid > this.#lastZxid) this.#lastZxid = zxid;
    const at = this.#pending.findIndex((one) => one.xid === xid);
    const [pending] = at === -1 ? [] : this.#pending.splice(at, 1);
    if (pending === undefined) {
      this.#end('the server answered what was not asked');
      return;
    }
    clearTimeout(pending.timer);
    if (number === 0) pending.resolve(reader);
    else pending.reject(answerError(number, pending.path, this.#options.target));
  }

  #nextXid(): number {
    this.#xid += 1;
    return this.#xid;
  }

  #request(
    operation: number,
    path: string,
    fill?: (body: JuteWriter) => unknown,
  ): Promise<JuteReader> {
    const xid = this.#nextXid();
    const frame = frameOf(xid, operation, (body) => {
      body.string(this.#full(path));
      fill?.(body);
    });
    return this.#exchange(frame, xid, path);
  }

  #exchange(frame: Buffer, xid: number, path: string): Promise<JuteReader> {
    const { target, requestTimeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      if (this.#over !== undefined) {
        reject(toFencepostError(this.#over, path, target, 'not-sent'));
        return;
      }
      const timer = setTimeout(() => {
        this.#end('request timed out');
      }, requestTimeoutMs);
      this.#pending.push({ xid, path, timer, resolve, reject });
      this.#socket.write(frame);
    });
  }

  #full(path: string): string {
    return path === '/' && this.#chroot !== '' ? this.#chroot : this.#chroot + path;
  }

  #below(path: string): string {
    return path.startsWith(this.#chroot) ? path.slice(this.#chroot.length) || '/' : path;
  }

  #end(reason: string, byUs = true): void {
    if (this.#over !== undefined) return;
    this.#over = reason;
    this.#socket.destroy();
    for (const { path, timer, reject } of this.#pending.splice(0)) {
      clearTimeout(timer);
      reject(toFencepostError(reason, path, this.#options.target, 'sent'));
    }
    for (const listener of this.#closeListeners) listener(byUs);
  }
}

function frameOf(xid: number, operation: number, fill?: (body: JuteWriter) => unknown): Buffer {
  const writer = new JuteWriter().int(xid).int(operation);
  fill?.(writer);
  return writer.frame();
}

/** The part of every path that the target gives, without a slash at its end. */
function chrootOf({ path }: Target): string {
  const inner = path.replace(/^\/+|\/+$/g, '');
  return inner === '' ? '' : `/${inner}`;
}
