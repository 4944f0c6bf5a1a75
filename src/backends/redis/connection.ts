/**
 * One connection to one Redis server, opened when first used and opened again after it broke.
 * Nothing is ever sent twice: ioredis's retries, offline queue across connections and re-sending
 * are off, and authentication, database and name are sent here, where a refusal can be told.
 */
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { Interrupted, UsageError } from '../../domain/errors.ts';
import {
  displayEndpoint,
  displayTarget,
  type Endpoint,
  type Target,
  type TlsOptions,
} from '../../domain/target.ts';
import type { BackendOptions } from '../backend.ts';
import { isRefusal, isUnknownCommand, requestTimeout, toFencepostError } from './errors.ts';
import type { ErrorContext } from './errors.ts';

export type Argument = string | Buffer | number;
export type Command = readonly [name: string, ...args: Argument[]];

/** The part of ioredis that this adapter uses. */
interface RedisClient {
  readonly status: string;
  connect(): Promise<void>;
  callBuffer(command: string, args: Argument[]): Promise<unknown>;
  pipeline(): RedisPipeline;
  disconnect(): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

interface RedisPipeline {
  callBuffer(command: string, args: Argument[]): unknown;
  exec(): Promise<[Error | null, unknown][] | null>;
}

/** How one request may end besides by its reply: by the deadline or by the caller's signal. */
export interface RequestOptions {
  readonly signal: AbortSignal;
  /** `write`: an error may mean that it was done. Default `read`. */
  readonly doing?: 'read' | 'write';
  readonly timeoutMs?: number;
}

/** Sends requests. Replies are as on the wire: strings are Buffers. */
export interface Sender {
  /** @throws {TargetError | PermissionError} as toFencepostError says */
  send(command: Command, how: RequestOptions): Promise<unknown>;
  /** Sends all at once; for each, in order, its reply or a FencepostError. */
  sendAll(commands: readonly Command[], how: RequestOptions): Promise<unknown[]>;
}

/** One living connection: all its requests go to the same server process. */
export interface Session extends Sender {
  /** Grows with every new connection of this backend. */
  readonly number: number;
}

/** Finds out where the server is now. @throws {TargetError} when nobody knows */
export type Locate = (signal: AbortSignal) => Promise<Endpoint>;

/** Opens when first used, and again after it broke. Holds no more than one socket. */
export class RedisConnection implements Sender {
  readonly display: string;
  readonly database: number;
  readonly #locate: Locate;
  readonly #target: Target;
  readonly #options: BackendOptions;
  readonly #tls: ((host: string) => TlsFiles) | undefined;
  #endpoint: Endpoint;
  #current: { readonly session: Session; readonly client: RedisClient } | undefined;
  #opening: Promise<Session> | undefined;
  #count = 0;
  #closed = false;

  /**
   * @param locate asked for the server before every connect; default: the target's first endpoint
   * @throws {UsageError} on a database that is no number, or an unreadable TLS file
   */
  constructor(target: Target, options: BackendOptions, locate?: Locate) {
    const [first] = target.endpoints;
    this.#target = target;
    this.#options = options;
    this.#locate = locate ?? (() => Promise.resolve(first));
    this.#endpoint = first;
    this.display = displayTarget(target);
    // Behind sentinels the path is the primary's name.
    this.database = target.kind === 'redis-sentinel' ? 0 : parseDatabase(target);
    this.#tls = target.tls === undefined ? undefined : tlsOptions(target.tls);
  }

  /** `host:port` of the present connection, or of the last one. */
  get endpoint(): string {
    return displayEndpoint(this.#endpoint);
  }

  /** The present connection, or a new one. */
  async session(signal: AbortSignal): Promise<Session> {
    if (signal.aborted) throw interrupted();
    if (this.#closed) throw toFencepostError(new Error('closed'), this.#context('connect'));
    if (this.#current?.client.status === 'ready') return this.#current.session;
    this.#opening ??= this.#open(signal).finally(() => {
      this.#opening = undefined;
    });
    return raceAbort(this.#opening, signal);
  }

  async send(command: Command, how: RequestOptions): Promise<unknown> {
    return (await this.session(how.signal)).send(command, how);
  }

  async sendAll(commands: readonly Command[], how: RequestOptions): Promise<unknown[]> {
    return (await this.session(how.signal)).sendAll(commands, how);
  }

  close(): void {
    this.#closed = true;
    this.#current?.client.disconnect();
    this.#current = undefined;
  }

  async #open(signal: AbortSignal): Promise<Session> {
    this.#endpoint = await this.#locate(signal);
    const { client, cause } = this.#client();
    const commands = handshake(this.#target, this.database, this.#options.clientName);
    const at = this.#context('connect');
    try {
      const connectAndGreet = async (): Promise<unknown[]> => {
        await client.connect();
        return pipeline(client, commands);
      };
      const drop = (): void => {
        client.disconnect();
      };
      const answers = await withDeadline(connectAndGreet, {
        drop,
        timeoutMs: this.#options.connectTimeoutMs,
        at,
      });
      checkHandshake(commands, answers, at);
      if (this.#closed) throw new Error('closed');
    } catch (error) {
      client.disconnect();
      throw toFencepostError(isClosed(error) ? (cause() ?? error) : error, at);
    }
    const session = this.#bind(client, cause);
    this.#current = { session, client };
    return session;
  }

  #client(): { client: RedisClient; cause: () => Error | undefined } {
    const { host, port } = this.#endpoint;
    const client: RedisClient = new Redis({
      host,
      port,
      ...(this.#tls === undefined ? {} : { tls: this.#tls(host) }),
      // RESP2: every server speaks it, HELLO is not needed, and no reply here gains by RESP3.
      protocol: 2,
      lazyConnect: true,
      retryStrategy: null,
      reconnectOnError: null,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      enableOfflineQueue: false,
      enableReadyCheck: false,
      disableClientInfo: true,
      connectTimeout: this.#options.connectTimeoutMs,
    });
    let first: Error | undefined;
    // The reason of a failed connect comes by this event, not in the rejection.
    client.on('error', (error) => {
      first ??= error;
    });
    return { client, cause: () => first };
  }

  #bind(client: RedisClient, cause: () => Error | undefined): Session {
    const drop = (): void => {
      client.disconnect();
      // Its socket closes a little later; until then ioredis still calls it ready.
      if (this.#current?.client === client) this.#current = undefined;
    };
    const run = async <T>(work: () => Promise<T>, how: RequestOptions): Promise<T> => {
      const at = this.#context(how.doing ?? 'read');
      const timeoutMs = how.timeoutMs ?? this.#options.requestTimeoutMs;
      if (how.signal.aborted) throw interrupted();
      try {
        return await withDeadline(work, { drop, timeoutMs, at, signal: how.signal });
      } catch (error) {
        throw toFencepostError(isClosed(error) ? (cause() ?? error) : error, at);
      }
    };
    this.#count += 1;
    return {
      number: this.#count,
      send: ([name, ...args], how) => run(() => client.callBuffer(name, args), how),
      sendAll: async (commands, how) => {
        const answers = await run(() => pipeline(client, commands), how);
        const at = this.#context(how.doing ?? 'read');
        return answers.map((one) => (one instanceof Error ? toFencepostError(one, at) : one));
      },
    };
  }

  #context(doing: ErrorContext['doing']): ErrorContext {
    const { tls, username } = this.#target;
    return { display: this.display, doing, tls: tls !== undefined, username };
  }
}

async function pipeline(client: RedisClient, commands: readonly Command[]): Promise<unknown[]> {
  if (commands.length === 0) return [];
  const batch = client.pipeline();
  for (const [name, ...args] of commands) batch.callBuffer(name, args);
  const answers = (await batch.exec()) ?? [];
  for (const [error] of answers) {
    // A reply that says no concerns one command; a broken connection concerns them all.
    if (error !== null && error.name !== 'ReplyError') throw error;
  }
  return answers.map(([error, value]) => error ?? value);
}

/** AUTH and SELECT must succeed; the name, and leaving idle times alone (7.2), are best effort. */
function handshake(target: Target, database: number, clientName: string): readonly Command[] {
  const commands: Command[] = [];
  const { username } = target;
  const password = target.password?.reveal();
  if (username !== undefined) {
    // Without a password too: going on as the default user would act under another name.
    commands.push(['AUTH', username, password ?? '']);
  } else if (password !== undefined) commands.push(['AUTH', password]);
  commands.push(['CLIENT', 'SETNAME', clientName], ['CLIENT', 'NO-TOUCH', 'ON']);
  if (database !== 0) commands.push(['SELECT', database]);
  return commands;
}

function checkHandshake(
  commands: readonly Command[],
  answers: readonly unknown[],
  at: ErrorContext,
): void {
  for (const [index, answer] of answers.entries()) {
    if (!(answer instanceof Error)) continue;
    const name = commands[index]?.[0];
    // A password for a server that has none is no reason to stop.
    if (
      name === 'AUTH' &&
      /without any password configured|no password is set/i.test(answer.message)
    ) {
      continue;
    }
    const error = toFencepostError(answer, at);
    const tolerable = isRefusal(error) || isUnknownCommand(error) || error.code === 'server-error';
    if (name === 'CLIENT' && tolerable) continue;
    throw error;
  }
}

/**
 * Runs `work` under a deadline and the caller's signal. After either the connection is dropped:
 * its replies would be out of step with our questions.
 */
async function withDeadline<T>(
  work: () => Promise<T>,
  limit: {
    readonly drop: () => void;
    readonly timeoutMs: number;
    readonly at: ErrorContext;
    readonly signal?: AbortSignal;
  },
): Promise<T> {
  const { drop, timeoutMs, at, signal } = limit;
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const cut = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(requestTimeout(timeoutMs, at));
      drop();
    }, timeoutMs);
    onAbort = () => {
      reject(interrupted());
      drop();
    };
    signal?.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work(), cut]);
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort);
  }
}

async function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort: (() => void) | undefined;
  const cut = new Promise<never>((_, reject) => {
    onAbort = () => {
      reject(interrupted());
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, cut]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}

/** The caller gave up; nothing more is sent. */
export function interrupted(): Interrupted {
  return new Interrupted('interrupted', { code: 'interrupted', definite: false });
}

function isClosed(error: unknown): boolean {
  return (
    error instanceof Error &&
    /Connection is closed|connection close|isn't writeable/.test(error.message)
  );
}

function parseDatabase(target: Target): number {
  if (target.path === '') return 0;
  const number = /^\d{1,5}$/.test(target.path) ? Number(target.path) : undefined;
  if (number === undefined) {
    throw new UsageError(`"${target.path}" is not a Redis database number`, {
      code: 'bad-target',
      hint: 'write redis://host:port or redis://host:port/0',
      definite: true,
    });
  }
  return number;
}

interface TlsFiles {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly servername: string;
}

/** Reads the files at once, so that a wrong name is told before anything is sent. */
function tlsOptions(tls: TlsOptions): (host: string) => TlsFiles {
  const read = (file: string): Buffer => {
    try {
      return readFileSync(file);
    } catch (cause) {
      throw new UsageError(`cannot read "${file}"`, {
        code: 'bad-tls-file',
        hint: 'check the ca=, cert= and key= files in the URL',
        cause,
        definite: true,
      });
    }
  };
  const files = {
    ...(tls.caFile === undefined ? {} : { ca: read(tls.caFile) }),
    ...(tls.certFile === undefined ? {} : { cert: read(tls.certFile) }),
    ...(tls.keyFile === undefined ? {} : { key: read(tls.keyFile) }),
  };
  return (host) => ({
    ...files,
    servername: tls.serverName ?? (/^[\d.]+$|:/.test(host) ? '' : host),
  });
}
