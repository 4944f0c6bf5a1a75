/**
 * A ZooKeeper session as the lease of one grant. It lives for its timeout after each request that
 * was answered, counted here from the sending, and nothing prolongs it but what its user asks for.
 * A broken connection is taken up again under the same session. Against a follower that is cut off
 * from its leader an answer proves less than it seems: the fence is what protects.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  isConnectionLost,
  isSessionExpired,
  sessionExpired,
} from '../clients/zookeeper/answers.ts';
import { isNodeError, NodeError, zooKeeperCodes } from '../clients/zookeeper/errors.ts';
import { attach } from '../clients/zookeeper/lean-attach.ts';
import type { LeanConnection, WatchEvent } from '../clients/zookeeper/lean-connection.ts';
import { FencepostError, TargetError } from '../domain/errors.ts';
import { displayTarget, type Target } from '../domain/target.ts';
import type { ProtocolContext } from './protocol.ts';

/** Between attempts to reach a member again. */
const pauseMs = 100;

type LeaseContext = Pick<ProtocolContext, 'target' | 'requestTimeoutMs'>;

export class LeaseSession {
  readonly #context: LeaseContext;
  readonly #first: LeanConnection;
  readonly #onLost: (reason: string) => void;
  #connection: LeanConnection;
  #attaching: Promise<LeanConnection> | undefined;
  #heardNs: bigint;
  #expired = false;
  #ended = false;
  #lost: string | undefined;
  /** The node whose loss the holder is told of. */
  #guarded: string | undefined;
  #lossTimer: NodeJS.Timeout | undefined;
  #connections = 0;
  readonly #wakers = new Set<() => void>();
  readonly #eventListeners: ((event: WatchEvent) => void)[] = [];

  private constructor(
    context: LeaseContext,
    connection: LeanConnection,
    heardNs: bigint,
    onLost: (reason: string) => void,
  ) {
    this.#context = context;
    this.#first = connection;
    this.#connection = connection;
    this.#heardNs = heardNs;
    this.#onLost = onLost;
    this.#follow(connection);
  }

  /**
   * Begins a session.
   * @param onLost told at most once after `guard`
   * @throws {FencepostError} as `attach` does
   */
  static async open(
    context: LeaseContext,
    leaseMs: number,
    onLost: (reason: string) => void = () => undefined,
  ): Promise<LeaseSession> {
    const sentNs = process.hrtime.bigint();
    const request = { ...context, session: undefined, wishMs: leaseMs, lastZxid: 0n };
    return new LeaseSession(context, await attach(request), sentNs, onLost);
  }

  get id(): bigint {
    return this.#first.session.id;
  }

  /** What the server granted, in ms: never less than two of its ticks. */
  get timeoutMs(): number {
    return this.#first.sessionTimeoutMs;
  }

  /** Until when the server surely keeps the session: process.hrtime ns. */
  get validUntilNs(): bigint {
    return this.#heardNs + BigInt(this.timeoutMs) * 1_000_000n;
  }

  /** The server said that it is over. */
  get expired(): boolean {
    return this.#expired;
  }

  /** Why the holder was told that it lost the lock, if it was. */
  get lost(): string | undefined {
    return this.#lost;
  }

  /**
   * Sends one request, on the connection that there is or on a new one of the same session.
   * @throws {FencepostError} `session-expired`; whatever the request rejects with
   */
  async use<T>(request: (connection: LeanConnection) => Promise<T>): Promise<T> {
    const connection = await this.#attached();
    const sentNs = process.hrtime.bigint();
    try {
      const value = await request(connection);
      this.#heard(sentNs);
      return value;
    } catch (error) {
      if (error instanceof NodeError) this.#heard(sentNs);
      if (isSessionExpired(error)) this.#expire();
      throw error;
    }
  }

  /** Tells the holder from now on when the node goes, the session ends, or nobody answers in time. */
  guard(path: string): void {
    this.#guarded = path;
    this.#lost = undefined;
    this.#armLossTimer();
  }

  /** The holder ends the grant itself. */
  unguard(): void {
    this.#guarded = undefined;
    clearTimeout(this.#lossTimer);
  }

  lose(reason: string): void {
    if (this.#guarded === undefined) return;
    this.unguard();
    this.#lost = reason;
    this.#onLost(reason);
  }

  /** How many connections it had: watches of an earlier one are gone. */
  get connections(): number {
    return this.#connections;
  }

  /** Every watch event of every connection. */
  onEvent(listener: (event: WatchEvent) => void): void {
    this.#eventListeners.push(listener);
  }

  /** Pings three times in a session timeout. @returns what stops it */
  keepAlive(): () => void {
    const timer = setInterval(() => {
      // Whoever uses the session meets the same failure, or the next ping succeeds.
      this.use((connection) => connection.ping()).catch(tolerate);
    }, this.timeoutMs / 3);
    return () => {
      clearInterval(timer);
    };
  }

  /**
   * Makes a read again while the connection is lost, as in an election, until `deadlineMs` of
   * `performance.now()` or the session's own end. Only for what has no effect.
   */
  async persist<T>(read: () => Promise<T>, deadlineMs: number): Promise<T> {
    for (;;) {
      try {
        return await read();
      } catch (error) {
        const late = performance.now() >= deadlineMs;
        const over = this.#ended || process.hrtime.bigint() >= this.validUntilNs;
        if (late || over || !isConnectionLost(error)) throw error;
        await sleep(pauseMs);
      }
    }
  }

  /**
   * Watches a node until something happens to it or to the connection, or until `waitMs` is over.
   * Returns at once when there is no such node.
   */
  async watchFor(path: string, waitMs: number): Promise<void> {
    let wake: () => void = () => undefined;
    const sign = new Promise<void>((resolve) => {
      wake = resolve;
    });
    this.#wakers.add(wake);
    const timer = setTimeout(wake, waitMs);
    try {
      await this.use((connection) => connection.getData(path, true));
      await sign;
    } catch (error) {
      if (!isNodeError(error, zooKeeperCodes.noNode)) throw error;
    } finally {
      clearTimeout(timer);
      this.#wakers.delete(wake);
    }
  }

  /** Ends the session on the server, if it can be told now, else leaves it to its timeout. */
  async close(): Promise<void> {
    this.unguard();
    try {
      if (!this.#connection.closed) await this.#connection.closeSession();
    } catch (error) {
      tolerate(error);
    } finally {
      this.drop();
    }
  }

  /** Leaves the session to its timeout. Idempotent. */
  drop(): void {
    this.unguard();
    this.#ended = true;
    this.#connection.drop('closed');
  }

  #attached(): Promise<LeanConnection> {
    const { target } = this.#context;
    if (this.#expired) return Promise.reject(sessionExpired(target));
    if (this.#ended) return Promise.reject(leftAlone(target));
    if (this.#attaching === undefined && !this.#connection.closed) {
      return Promise.resolve(this.#connection);
    }
    this.#attaching ??= this.#attachAgain().finally(() => {
      this.#attaching = undefined;
    });
    return this.#attaching;
  }

  async #attachAgain(): Promise<LeanConnection> {
    const { session } = this.#first;
    const { lastZxid } = this.#connection;
    const sentNs = process.hrtime.bigint();
    try {
      const request = { ...this.#context, session, wishMs: this.timeoutMs, lastZxid };
      this.#connection = await attach(request);
    } catch (error) {
      if (isSessionExpired(error)) this.#expire();
      throw error;
    }
    this.#follow(this.#connection);
    this.#heard(sentNs);
    if (this.#guarded !== undefined) await this.#watch(this.#connection, this.#guarded);
    return this.#connection;
  }

  #follow(connection: LeanConnection): void {
    this.#connections += 1;
    connection.onEvent((event) => {
      const { type, path } = event;
      this.#wake();
      for (const listener of this.#eventListeners) listener(event);
      if (path !== this.#guarded) return;
      if (type === 'deleted') this.lose(`${path} was deleted`);
      // Written to by somebody: the watch is spent, and the node is still there.
      else this.#watch(connection, path).catch(tolerate);
    });
    connection.onClosed((byUs) => {
      this.#wake();
      if (this.#ended || this.#guarded === undefined) return;
      if (byUs) this.#loseIfLate();
      else {
        this.#attached().catch((error: unknown) => {
          tolerate(error);
          this.#loseIfLate();
        });
      }
    });
  }

  async #watch(connection: LeanConnection, path: string): Promise<void> {
    const stat = await connection.exists(path, true);
    if (stat === undefined && path === this.#guarded) this.lose(`${path} is gone`);
  }

  #wake(): void {
    for (const wake of [...this.#wakers]) wake();
  }

  #heard(sentNs: bigint): void {
    if (sentNs > this.#heardNs) this.#heardNs = sentNs;
    if (this.#guarded !== undefined) this.#armLossTimer();
  }

  #armLossTimer(): void {
    clearTimeout(this.#lossTimer);
    const leftMs = Number(this.validUntilNs - process.hrtime.bigint()) / 1e6;
    this.#lossTimer = setTimeout(
      () => {
        if (this.#connection.closed) this.#loseIfLate();
      },
      Math.max(0, leftMs) + 1,
    );
  }

  /** Without a connection, and without an answer for a whole timeout: it must be taken for lost. */
  #loseIfLate(): void {
    if (process.hrtime.bigint() < this.validUntilNs) return;
    this.lose(`no answer from the service for ${this.timeoutMs} ms`);
  }

  #expire(): void {
    this.#expired = true;
    this.lose('the session has expired');
  }
}

function leftAlone(target: Target): TargetError {
  return new TargetError(`the client of ${displayTarget(target)} is closed`, {
    code: 'client-closed',
  });
}

/** Failures of the service are told by the next request; anything else is our own bug. */
function tolerate(error: unknown): void {
  if (!(error instanceof FencepostError)) throw error;
}
