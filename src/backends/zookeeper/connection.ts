/**
 * The adapter's session: opened when it is first needed, and again after it was lost, since reads may
 * be repeated. Each session comes with the member that serves it.
 */
import { TargetError } from '../../domain/errors.ts';
import type { ServerView } from '../../domain/lock.ts';
import { displayTarget, type Target } from '../../domain/target.ts';
import { openSession, type Session } from '../../clients/zookeeper/session.ts';
import { interrupted } from '../../clients/zookeeper/errors.ts';
import type { BackendOptions } from '../backend.ts';
import { readMembers, readServerView } from './ensemble.ts';

/** Members are asked beside the session; a filtered port must not hold up the answer. */
export const memberTimeoutMs = 1_500;

const sessionTimeoutMs = 10_000;

interface Served {
  readonly session: Session;
  /** A member that changes its role drops its clients, so the role is that of the whole session. */
  readonly server: ServerView;
}

export class Connection {
  readonly #target: Target;
  readonly #options: BackendOptions;
  #opening: Promise<Served> | undefined;
  #live: Session | undefined;
  #closed = false;

  constructor(target: Target, options: BackendOptions) {
    this.#target = target;
    this.#options = options;
  }

  /** @throws {TargetError} unreachable, no quorum, or closed */
  async served(): Promise<Served> {
    if (this.#closed) {
      throw new TargetError(`${displayTarget(this.#target)} was closed`, {
        code: 'closed',
        definite: true,
      });
    }
    if (this.#live?.lost !== undefined) this.#opening = undefined;
    this.#opening ??= this.#open();
    const opening = this.#opening;
    try {
      const served = await opening;
      this.#live = served.session;
      return served;
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined;
      throw error;
    }
  }

  async session(): Promise<Session> {
    return (await this.served()).session;
  }

  async #open(): Promise<Served> {
    const target = this.#target;
    try {
      const session = await openSession(target, { ...this.#options, sessionTimeoutMs });
      return { session, server: await readServerView(target, session, memberTimeoutMs) };
    } catch (error) {
      throw await this.#explain(error);
    }
  }

  /** Why members open no session is told by the members themselves. */
  async #explain(error: unknown): Promise<unknown> {
    if (!(error instanceof TargetError) || error.code !== 'target-not-serving') return error;
    const members = await readMembers(this.#target, memberTimeoutMs);
    const told = members.map(
      ({ member, role, trouble }) =>
        trouble ??
        (role.kind === 'unknown' ? `${member}: ${role.reason}` : `${member} is ${role.value}`),
    );
    return new TargetError(`${error.message}: ${told.join(', ')}`, {
      code: error.code,
      hint: 'an ensemble serves only with a majority of its members: start the others',
      cause: error,
      definite: true,
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    try {
      await (await this.#opening)?.session.close();
    } catch {
      // A session that could not be opened needs no closing.
    }
  }
}

/** Gives up waiting when `signal` is aborted. For reads: what was sent is not taken back. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort: (() => void) | undefined;
  const cut = new Promise<never>((_, reject) => {
    onAbort = () => {
      reject(interrupted());
    };
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([work, cut]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}
