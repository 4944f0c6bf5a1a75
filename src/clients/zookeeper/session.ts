/**
 * One ZooKeeper session through node-zookeeper-client, with what that client lacks: a deadline on
 * every call, bigint stats, and a hard end. Any loss of the connection ends the session here: the
 * client would keep unsent packets and send them after a reconnect, also a delete whose caller gave
 * up long ago.
 */
import type { Socket } from 'node:net';
import { PermissionError, TargetError } from '../../domain/errors.ts';
import { displayTarget, type Endpoint, type Target } from '../../domain/target.ts';
import { toFencepostError } from './errors.ts';
import { reachableEndpoints } from './reachable.ts';

/** Node metadata, 64-bit fields as bigint. */
export interface NodeStat {
  readonly czxid: bigint;
  readonly mzxid: bigint;
  readonly pzxid: bigint;
  readonly ctimeMs: number;
  readonly version: number;
  readonly cversion: number;
  /** 0n for persistent nodes. */
  readonly ephemeralOwner: bigint;
  readonly dataLength: number;
  readonly numChildren: number;
}

interface RawStat {
  readonly czxid: Buffer;
  readonly mzxid: Buffer;
  readonly pzxid: Buffer;
  readonly ctime: Buffer;
  readonly version: number;
  readonly cversion: number;
  readonly ephemeralOwner: Buffer;
  readonly dataLength: number;
  readonly numChildren: number;
}

type Callback<A extends unknown[]> = (error: unknown, ...values: A) => void;

/** The part of node-zookeeper-client that is used. Its transactions never are: they drop version 0. */
interface RawClient {
  on(event: string, listener: () => void): unknown;
  connect(): void;
  close(): void;
  addAuthInfo(scheme: string, auth: Buffer): void;
  getSessionId(): Buffer;
  getSessionTimeout(): number;
  getData(path: string, callback: Callback<[Buffer | null, RawStat]>): void;
  getChildren(path: string, callback: Callback<[string[], RawStat]>): void;
  exists(path: string, callback: Callback<[RawStat | null]>): void;
  setData(path: string, data: Buffer, version: number, callback: Callback<[RawStat]>): void;
  remove(path: string, version: number, callback: Callback<[]>): void;
  readonly connectionManager: {
    readonly socket?: Socket;
    /** In the order in which they are tried; the one in use stands before `nextServerIndex`. */
    readonly servers: readonly { readonly host: string; readonly port: number | string }[];
    readonly nextServerIndex: number;
    readonly packetQueue: { shift(): unknown };
    connect(): void;
  };
}

export interface ConnectOptions {
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly sessionTimeoutMs: number;
}

/**
 * Opens a session.
 * @throws {TargetError} no server reachable, or reachable but serving nobody (no quorum); no chroot
 * @throws {PermissionError} digest refused
 */
export async function openSession(target: Target, options: ConnectOptions): Promise<Session> {
  const reachable = await reachableEndpoints(target, options.connectTimeoutMs);
  const library = await import('node-zookeeper-client');
  const raw: RawClient & object = rawClient(
    library.default.createClient(reachable.join(','), {
      sessionTimeout: options.sessionTimeoutMs,
      spinDelay: 50,
      retries: 0,
    }),
  );
  const session = new Session(raw, target, options);
  await session.start();
  return session;
}

/** The published types leave out the connection manager, which a hard end needs. */
function rawClient(client: unknown): RawClient {
  const candidate = client as Partial<RawClient>;
  if (typeof candidate.connectionManager?.packetQueue.shift !== 'function') {
    throw new TypeError('this version of node-zookeeper-client has no connection manager');
  }
  return candidate as RawClient;
}

/** A live session. Paths are below the target's chroot, as people type them. */
export class Session {
  readonly #raw: RawClient;
  readonly #target: Target;
  readonly #options: ConnectOptions;
  readonly #chroot: string;
  #lost: string | undefined;

  constructor(raw: RawClient, target: Target, options: ConnectOptions) {
    this.#raw = raw;
    this.#target = target;
    this.#options = options;
    const path = target.path.replace(/^\/+|\/+$/g, '');
    this.#chroot = path === '' ? '' : `/${path}`;
  }

  /** Why the session is over, or undefined while it lives. */
  get lost(): string | undefined {
    return this.#lost;
  }

  get sessionId(): bigint {
    return this.#raw.getSessionId().readBigUInt64BE();
  }

  /** The member that serves this session. It stays the same: a lost connection ends the session. */
  get member(): Endpoint | undefined {
    const { servers, nextServerIndex } = this.#raw.connectionManager;
    const server = servers[nextServerIndex - 1];
    return server === undefined ? undefined : { host: server.host, port: Number(server.port) };
  }

  async start(): Promise<void> {
    await this.#connected();
    if (this.#chroot !== '' && (await this.exists('/')) === undefined) {
      await this.close();
      throw new TargetError(
        `chroot "${this.#chroot}" does not exist on ${displayTarget({ ...this.#target, path: '' })}`,
        {
          code: 'no-chroot',
          hint: 'leave the path out of the target, or create the node first',
          definite: true,
        },
      );
    }
  }

  #connected(): Promise<void> {
    return new Promise((resolve, reject) => {
      let turnedAway = false;
      const timer = setTimeout(() => {
        this.end('no session');
        reject(turnedAway ? notServing(this.#target) : silent(this.#target, this.#options));
      }, this.#options.connectTimeoutMs);
      this.#raw.on('connected', () => {
        clearTimeout(timer);
        resolve();
      });
      this.#raw.on('authenticationFailed', () => {
        clearTimeout(timer);
        this.end('authentication failed');
        reject(authRefused(this.#target));
      });
      this.#raw.on('expired', () => {
        this.end('session expired');
      });
      this.#raw.on('disconnected', () => {
        turnedAway = true;
        // Before the first connection the client goes on to the next member; after it, we stop.
        if (this.#raw.getSessionId().some((byte) => byte !== 0)) this.end('connection lost');
      });
      if (this.#target.username !== undefined) {
        const password = this.#target.password?.reveal() ?? '';
        this.#raw.addAuthInfo('digest', Buffer.from(`${this.#target.username}:${password}`));
      }
      this.#raw.connect();
    });
  }

  getData(path: string): Promise<{ data: Buffer; stat: NodeStat }> {
    return this.#call(path, 'read', (full, done) => {
      this.#raw.getData(full, (error, data, stat) => {
        done(error, () => ({ data: data ?? Buffer.alloc(0), stat: toStat(stat) }));
      });
    });
  }

  getChildren(path: string): Promise<{ children: string[]; stat: NodeStat }> {
    return this.#call(path, 'read', (full, done) => {
      this.#raw.getChildren(full, (error, children, stat) => {
        done(error, () => ({ children, stat: toStat(stat) }));
      });
    });
  }

  /** Undefined when there is no such node. */
  exists(path: string): Promise<NodeStat | undefined> {
    return this.#call(path, 'read', (full, done) => {
      this.#raw.exists(full, (error, stat) => {
        done(error, () => (stat === null ? undefined : toStat(stat)));
      });
    });
  }

  /** Without an answer within `timeoutMs` the session ends, so that it is never sent later. */
  setData(path: string, data: Buffer, version: number, timeoutMs?: number): Promise<NodeStat> {
    return this.#call(
      path,
      'write',
      (full, done) => {
        this.#raw.setData(full, data, version, (error, stat) => {
          done(error, () => toStat(stat));
        });
      },
      timeoutMs,
    );
  }

  /**
   * `version` 0 is honoured here, unlike in the client's transactions. Without an answer within
   * `timeoutMs` the session ends.
   */
  remove(path: string, version: number, timeoutMs?: number): Promise<void> {
    return this.#call(
      path,
      'write',
      (full, done) => {
        this.#raw.remove(full, version, (error) => {
          done(error, () => undefined);
        });
      },
      timeoutMs,
    );
  }

  #call<T>(
    path: string,
    kind: 'read' | 'write',
    send: (full: string, done: (error: unknown, value: () => T) => void) => void,
    timeoutMs = this.#options.requestTimeoutMs,
  ): Promise<T> {
    const target = this.#target;
    return new Promise((resolve, reject) => {
      if (this.#lost !== undefined) {
        reject(toFencepostError(this.#lost, path, target, 'not-sent'));
        return;
      }
      const timer = setTimeout(() => {
        // A late answer to a read harms nobody; an unanswered write must never be sent later.
        if (kind === 'write') this.end('request timed out');
        reject(toFencepostError('request timed out', path, target, 'sent'));
      }, timeoutMs);
      send(this.#full(path), (error, value) => {
        clearTimeout(timer);
        if (error === null || error === undefined) resolve(value());
        else reject(toFencepostError(error, path, target, 'sent'));
      });
    });
  }

  #full(path: string): string {
    if (this.#chroot === '') return path;
    return path === '/' ? this.#chroot : this.#chroot + path;
  }

  /** Ends the session on this side at once: nothing queued is sent any more. Idempotent. */
  end(reason: string): void {
    if (this.#lost !== undefined) return;
    this.#lost = reason;
    dropConnection(this.#raw);
  }

  /** Closes the session on the server too. Idempotent; waits at most half a second. */
  async close(): Promise<void> {
    if (this.#lost !== undefined) return;
    this.#lost = 'closed';
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 500);
      this.#raw.on('disconnected', () => {
        clearTimeout(timer);
        resolve();
      });
      this.#raw.close();
    });
    dropConnection(this.#raw);
  }
}

/** Empties the client's queue and cuts its socket without letting it reconnect. */
function dropConnection(raw: RawClient): void {
  raw.connectionManager.connect = () => undefined;
  while (raw.connectionManager.packetQueue.shift() !== undefined);
  raw.connectionManager.socket?.destroy();
}

/** A member that serves nobody closes the connection; this one says nothing at all. */
function silent(target: Target, { connectTimeoutMs }: ConnectOptions): TargetError {
  return new TargetError(
    `cannot reach ${displayTarget(target)}: it accepts connections, but did not answer within ${connectTimeoutMs} ms`,
    {
      code: 'target-unreachable',
      hint: 'is this the client port of a ZooKeeper member, and has the ensemble a quorum? Members without one serve nobody',
      definite: true,
    },
  );
}

function notServing(target: Target): TargetError {
  return new TargetError(`${displayTarget(target)} accepts connections but opens no session`, {
    code: 'target-not-serving',
    hint: 'a member without a quorum does that: look at `srvr` on each member',
    definite: true,
  });
}

function authRefused(target: Target): PermissionError {
  return new PermissionError(`${displayTarget(target)} refused the digest credentials`, {
    code: 'auth-failed',
    hint: 'check user name and password',
    definite: true,
  });
}

function toStat(raw: RawStat): NodeStat {
  return {
    czxid: raw.czxid.readBigInt64BE(),
    mzxid: raw.mzxid.readBigInt64BE(),
    pzxid: raw.pzxid.readBigInt64BE(),
    ctimeMs: Number(raw.ctime.readBigInt64BE()),
    version: raw.version,
    cversion: raw.cversion,
    ephemeralOwner: raw.ephemeralOwner.readBigUInt64BE(),
    dataLength: raw.dataLength,
    numChildren: raw.numChildren,
  };
}
