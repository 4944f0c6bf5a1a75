/**
 * One Redis connection of a lock client or observer: no retries, no offline queue, no re-sends, so
 * one call is one request on the wire. After a request without an answer the connection is out of
 * step; it is dropped, and the next request opens another.
 */
import { Redis, type RedisOptions } from 'ioredis';
import { PermissionError, TargetError, UsageError } from '../domain/errors.ts';
import { displayEndpoint, displayTarget, type Endpoint, type Target } from '../domain/target.ts';
import { bytesToText, stringToText, type Text } from '../domain/text.ts';
import type { Reply } from './protocol.ts';
import { tlsOptions } from './tls-options.ts';

/** A server's reply with every byte string turned into `Text`; integers are bigint. */
export type RedisValue = Text | bigint | undefined | readonly RedisValue[];

/** The elements of an array reply; none for any other reply. */
export function items(value: RedisValue): readonly RedisValue[] {
  return typeof value === 'object' ? value : [];
}

export type RedisArgument = string | number | Uint8Array;
export type Command = readonly [string, ...RedisArgument[]];

export interface RedisSender {
  /** Sends one command. Never rejects: what went wrong is the outcome. */
  send(...command: Command): Promise<Reply<{ value: RedisValue }>>;
  close(): void;
}

/** One server; `name` is its `host:port` as reached from here. */
export interface NamedServer extends Pick<RedisSender, 'send'> {
  readonly name: string;
}

export interface RedisLink extends RedisSender {
  /**
   * The connection that there is now, for commands whose meaning hangs on it (WAIT). Once it is
   * lost, nothing is sent any more: `fail` with `connect-failed`.
   * @param key of the commands: in a cluster each key has its own server
   */
  pin(key: string): Promise<Pick<RedisSender, 'send'>>;
  /** The servers that hold keys now. @throws {TargetError} when nobody can tell */
  primaries(): Promise<readonly Pick<RedisSender, 'send'>[]>;
  /** Every server that a client may be connected to, replicas and sentinels too. */
  servers(): Promise<readonly NamedServer[]>;
  /** Addresses at which the target's servers send clients elsewhere, as announced. */
  announced(): Promise<readonly Endpoint[]>;
}

/**
 * Server error codes that exclude any effect: raised before the first write of a command or script.
 * Our scripts read each of their keys before they write, so WRONGTYPE is one of them.
 */
export const redisDefiniteCodes = [
  'connect-failed',
  'NOSCRIPT',
  'READONLY',
  'WRONGTYPE',
  'MOVED',
  'ASK',
  'TRYAGAIN',
  'CLUSTERDOWN',
  'CROSSSLOT',
  'MASTERDOWN',
  'LOADING',
  'BUSY',
  'NOAUTH',
  'NOPERM',
  'WRONGPASS',
  'OOM',
  'MISCONF',
  'NOREPLICAS',
] as const;

/** Whether nothing was sent, since there was no connection to send it on. */
export function isUnreached(reply: Reply<object>): boolean {
  return reply.outcome === 'fail' && reply.code === 'connect-failed';
}

/** Whether this reply says that the server is not, or no more, the one to ask. */
export function isElsewhere(reply: Reply<object>): boolean {
  return reply.outcome !== 'ok' && elsewhereCodes.has(reply.code);
}

const elsewhereCodes: ReadonlySet<string> = new Set([
  'connect-failed',
  'connection-lost',
  'timeout',
  'READONLY',
  'MOVED',
  'CLUSTERDOWN',
  'MASTERDOWN',
]);

export interface LinkOptions {
  readonly target: Target;
  readonly requestTimeoutMs: number;
  readonly clientName: string;
}

/** A link to one server that need not answer yet. */
export interface ServerLink extends RedisLink, NamedServer {
  /** Connects and signs in; what went wrong is the answer. */
  open(): Promise<TargetError | PermissionError | undefined>;
}

/**
 * A link to one server of a target; nothing is sent before it is used.
 * @throws {UsageError} `protocol-target` when the target names no database number
 */
export function serverLink(options: LinkOptions, endpoint: Endpoint): ServerLink {
  const { target } = options;
  if (!/^\d{0,5}$/.test(target.path)) {
    throw new UsageError(`${displayTarget(target)} names no database number`, {
      code: 'protocol-target',
      hint: 'write the number behind the hosts, such as redis://host:port/0',
      definite: true,
    });
  }
  return new Link({ ...options, target: { ...target, kind: 'redis', endpoints: [endpoint] } });
}

class Link implements ServerLink {
  readonly #options: LinkOptions;
  #connection: Redis | undefined;
  #connecting: Promise<Redis | Error> | undefined;
  #closed = false;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  get name(): string {
    return displayEndpoint(this.#options.target.endpoints[0]);
  }

  async open(): Promise<TargetError | PermissionError | undefined> {
    const opened = await this.connect();
    if (opened instanceof Redis) return undefined;
    const display = displayTarget(this.#options.target);
    const message = `cannot connect to ${display}: ${stringToText(opened.message)}`;
    const refused = /^(NOAUTH|WRONGPASS|NOPERM)/.test(opened.message);
    return refused
      ? new PermissionError(message, { code: 'target-refused', cause: opened, definite: true })
      : new TargetError(message, { code: 'target-unreachable', cause: opened, definite: true });
  }

  /** A renewal and an operation may both find the connection gone: they share the new one. */
  connect(): Promise<Redis | Error> {
    if (this.#connection?.status === 'ready') return Promise.resolve(this.#connection);
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #open(): Promise<Redis | Error> {
    this.#connection?.disconnect();
    this.#connection = undefined;
    if (this.#closed) return new Error('the connection was closed by this program');
    const redis = new Redis(redisOptions(this.#options));
    // The cause (ECONNREFUSED) arrives only on the event, never in the rejection.
    let cause: Error | undefined;
    redis.on('error', (error: Error) => {
      cause ??= error;
    });
    try {
      await withDeadline(redis.connect(), this.#options.requestTimeoutMs);
      this.#connection = redis;
      return redis;
    } catch (error) {
      redis.disconnect();
      return cause ?? asError(error);
    }
  }

  async send(...command: Command): Promise<Reply<{ value: RedisValue }>> {
    return this.#sendOn(await this.connect(), command);
  }

  async pin(): Promise<Pick<RedisSender, 'send'>> {
    const redis = await this.connect();
    return {
      send: async (...command) =>
        this.#sendOn(
          redis instanceof Redis && redis !== this.#connection
            ? new Error('the connection that this must go on was lost')
            : redis,
          command,
        ),
    };
  }

  async #sendOn(
    redis: Redis | Error,
    [name, ...args]: Command,
  ): Promise<Reply<{ value: RedisValue }>> {
    if (!(redis instanceof Redis)) {
      return { outcome: 'fail', code: 'connect-failed', detail: stringToText(redis.message) };
    }
    try {
      const reply = await withDeadline(
        redis.callBuffer(
          name,
          args.map((arg) => (arg instanceof Uint8Array ? Buffer.from(arg) : arg)),
        ),
        this.#options.requestTimeoutMs,
      );
      return { outcome: 'ok', value: toValue(reply) };
    } catch (error) {
      return this.#failed(redis, asError(error));
    }
  }

  #failed(redis: Redis, error: Error): Reply<never> {
    const detail = stringToText(error.message);
    if (error.name === 'ReplyError') {
      const code = /^[A-Z]+(?= |$)/.exec(error.message)?.[0] ?? 'ERR';
      const definite = redisDefiniteCodes.some((known) => known === code);
      return { outcome: definite ? 'fail' : 'unknown', code, detail };
    }
    // Its status stays `ready` until the socket has closed: forget it at once.
    if (this.#connection === redis) this.#connection = undefined;
    redis.disconnect();
    const code = error instanceof DeadlinePassed ? 'timeout' : 'connection-lost';
    return { outcome: 'unknown', code, detail };
  }

  primaries(): Promise<readonly RedisSender[]> {
    return Promise.resolve([this]);
  }

  servers(): Promise<readonly NamedServer[]> {
    return Promise.resolve([this]);
  }

  announced(): Promise<readonly Endpoint[]> {
    return Promise.resolve([]);
  }

  close(): void {
    this.#closed = true;
    this.#connection?.disconnect();
    this.#connection = undefined;
  }
}

function redisOptions({ target, requestTimeoutMs, clientName }: LinkOptions) {
  const [endpoint] = target.endpoints;
  return {
    host: endpoint.host,
    port: endpoint.port,
    db: target.path === '' ? 0 : Number(target.path),
    connectionName: clientName,
    connectTimeout: requestTimeoutMs,
    lazyConnect: true,
    enableReadyCheck: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    disableClientInfo: true,
    ...credentials(target),
    ...(target.tls === undefined ? {} : { tls: tlsOptions(target.tls) }),
  } satisfies RedisOptions;
}

class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';
}

/**
 * A process that was stopped finds its timer overdue when it continues, although the reply may lie
 * in the socket: one more turn of the event loop reads it before we give up.
 */
function withDeadline<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      setImmediate(() => {
        reject(new DeadlinePassed(`no reply within ${timeoutMs} ms`));
      });
    }, timeoutMs);
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}

function toValue(reply: unknown): RedisValue {
  if (reply === null || reply === undefined) return undefined;
  if (Buffer.isBuffer(reply)) return bytesToText(reply);
  if (typeof reply === 'number') return BigInt(reply);
  if (typeof reply === 'string') return stringToText(reply);
  if (Array.isArray(reply)) return reply.map(toValue);
  return stringToText(JSON.stringify(reply));
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** A user without a password signs in with an empty one: never go on as the default user. */
function credentials(target: Target): { username?: string; password?: string } {
  const password = target.password?.reveal();
  if (target.username === undefined) return password === undefined ? {} : { password };
  return { username: target.username, password: password ?? '' };
}
