/**
 * The way to an etcd cluster. One member at a time is in use: the first that answers and sees a
 * leader. A read goes to another member when this one fails; a write that the cluster may have taken
 * is never sent again. Each call has a deadline.
 */
import type { CallOptions } from '@grpc/grpc-js';
import type { IStatusResponse } from 'etcd3';
import { FencepostError, Interrupted, PermissionError, TargetError } from '../../domain/errors.ts';
import { displayTarget, type Target } from '../../domain/target.ts';
import { isMemberTrouble, toFencepostError, type ErrorContext } from './errors.ts';
import { callOptions, openMember, readCredentials, type EtcdApi, type Member } from './member.ts';

export interface LinkOptions {
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
}

/** One call: what to send on which member. */
export type Call<T> = (api: EtcdApi, options: CallOptions) => Promise<T>;

export interface CallHow {
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
  /** Default true: without a leader the call fails at once. */
  readonly requireLeader?: boolean;
}

/** How one member answered when asked for its status. */
export interface MemberAnswer {
  /** `host:port`. */
  readonly member: string;
  /** Undefined when it answers, but not this question to this user. */
  readonly status: IStatusResponse | undefined;
  readonly error: FencepostError | undefined;
}

/** Opens when first used; one per backend, lock client or observer. */
export class EtcdLink {
  readonly display: string;
  readonly #target: Target;
  readonly #options: LinkOptions;
  readonly #members: readonly Member[];
  #current: Member | undefined;
  #connecting: Promise<Member> | undefined;
  #token: Promise<string | undefined> | undefined;
  #closed = false;

  /** @throws {UsageError} on an unreadable TLS file */
  constructor(target: Target, options: LinkOptions) {
    this.#target = target;
    this.#options = options;
    this.display = displayTarget(target);
    const credentials = target.tls === undefined ? undefined : readCredentials(target.tls);
    this.#members = target.endpoints.map((endpoint) => openMember(endpoint, credentials));
  }

  /** `host:port` of the member in use, or of the first one before any was used. */
  get member(): string {
    return (this.#current ?? this.#members[0])?.name ?? '';
  }

  get username(): string | undefined {
    return this.#target.username;
  }

  /** Sends a call without effect; on another member, or with a new token, when that may help. */
  async read<T>(call: Call<T>, how: CallHow): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const member = await this.#connected(how.signal);
      try {
        return await this.#send(member, call, how, 'read');
      } catch (error) {
        const last = attempt > this.#members.length;
        if (!(error instanceof FencepostError) || last || !this.#mayHelp(error, member))
          throw error;
      }
    }
  }

  /**
   * Sends a call once. After an error that is not `definite` it may have happened.
   * The member is one that answered before; when it fails, the next call goes to another.
   * Only a refused token, with which nothing was done, is answered by signing in and sending it.
   */
  async write<T>(call: Call<T>, how: CallHow): Promise<T> {
    for (let signedInAnew = false; ; signedInAnew = true) {
      const member = await this.#connected(how.signal);
      try {
        return await this.#send(member, call, how, 'write');
      } catch (error) {
        if (!(error instanceof FencepostError)) throw error;
        this.#mayHelp(error, member);
        if (signedInAnew || error.code !== 'auth-token-refused') throw error;
      }
    }
  }

  /** Opens a stream on the member in use; it lives until its end, an error or the signal. */
  async stream<T>(open: Call<T>, how: CallHow): Promise<T> {
    const member = await this.#connected(how.signal);
    const token = await this.#signedIn(member, how.signal);
    const { signal, requireLeader = true } = how;
    return open(member.api, callOptions({ token, requireLeader, signal, timeoutMs: undefined }));
  }

  /** Asks every member for its status, each with the deadline of connecting. Never fails as a whole. */
  async askAll(signal: AbortSignal): Promise<readonly MemberAnswer[]> {
    return Promise.all(this.#members.map((member) => this.#ask(member, signal)));
  }

  /** Sends a call without effect to every member, in the order of the target. Never fails as a whole. */
  async each<T>(call: Call<T>, how: CallHow): Promise<readonly (T | FencepostError)[]> {
    return Promise.all(
      this.#members.map((member) =>
        this.#send(member, call, how, 'read').catch((error: unknown) => {
          if (error instanceof FencepostError && !how.signal.aborted) return error;
          throw error;
        }),
      ),
    );
  }

  /** Turns what a stream reports into our errors. */
  translate(error: unknown, doing: ErrorContext['doing'] = 'read'): FencepostError {
    return toFencepostError(error, this.#context(this.member, doing, 0));
  }

  /** Idempotent. Calls under way end with an error. */
  close(): void {
    this.#closed = true;
    for (const member of this.#members) member.api.close();
  }

  /** Forgets the member or the token that a call failed with. @returns whether asking again may help */
  #mayHelp(error: FencepostError, member: Member): boolean {
    if (error.code === 'auth-token-refused') {
      this.#token = undefined;
      return true;
    }
    if (!isMemberTrouble(error) || this.#members.length === 1) return false;
    if (this.#current === member) this.#current = undefined;
    return true;
  }

  async #connected(signal: AbortSignal): Promise<Member> {
    if (signal.aborted) throw interrupted();
    if (this.#closed) {
      throw new TargetError(`${this.display} was closed`, { code: 'closed', definite: true });
    }
    if (this.#current !== undefined) return this.#current;
    this.#connecting ??= this.#choose().finally(() => {
      this.#connecting = undefined;
    });
    return raceAbort(this.#connecting, signal);
  }

  /** The first member that answers and sees a leader; the others are not waited for. */
  async #choose(): Promise<Member> {
    const asked = this.#members.map(async (member) => ({
      member,
      answer: await this.#ask(member, unabortable),
    }));
    const good = asked.map(async (one) => {
      const { member, answer } = await one;
      if (!seesLeader(answer)) throw answer.error ?? noLeader(this.display, member.name);
      return member;
    });
    try {
      this.#current = await Promise.any(good);
      return this.#current;
    } catch {
      // None will do: each one's reason is in its answer.
      throw unusable(this.display, await Promise.all(asked.map(async (one) => (await one).answer)));
    }
  }

  async #ask(member: Member, signal: AbortSignal): Promise<MemberAnswer> {
    const timeoutMs = this.#options.connectTimeoutMs;
    const setup = { token: undefined, requireLeader: false, signal, timeoutMs };
    try {
      const status = await member.api.maintenance.status(callOptions(setup));
      return { member: member.name, status, error: undefined };
    } catch (cause) {
      const error = toFencepostError(cause, this.#context(member.name, 'connect', timeoutMs));
      // A refusal is an answer, too: newer servers tell their status to signed-in users only.
      const answers = error instanceof PermissionError;
      return { member: member.name, status: undefined, error: answers ? undefined : error };
    }
  }

  async #send<T>(member: Member, call: Call<T>, how: CallHow, doing: 'read' | 'write'): Promise<T> {
    const token = await this.#signedIn(member, how.signal);
    const { signal, requireLeader = true } = how;
    if (signal.aborted) throw interrupted();
    const timeoutMs = how.timeoutMs ?? this.#options.requestTimeoutMs;
    try {
      return await call(member.api, callOptions({ token, requireLeader, signal, timeoutMs }));
    } catch (cause) {
      throw toFencepostError(cause, this.#context(member.name, doing, timeoutMs));
    }
  }

  /** The token of this session; a cluster without users needs none. */
  #signedIn(member: Member, signal: AbortSignal): Promise<string | undefined> {
    const { username, password } = this.#target;
    if (username === undefined) return Promise.resolve(undefined);
    this.#token ??= this.#signIn(member, username, password?.reveal()).catch((error: unknown) => {
      this.#token = undefined;
      throw error;
    });
    return raceAbort(this.#token, signal);
  }

  async #signIn(
    member: Member,
    name: string,
    password: string | undefined,
  ): Promise<string | undefined> {
    const timeoutMs = this.#options.requestTimeoutMs;
    const setup = { token: undefined, requireLeader: true, signal: unabortable, timeoutMs };
    try {
      const request = { name, password: password ?? '' };
      return (await member.api.auth.authenticate(request, callOptions(setup))).token;
    } catch (cause) {
      // Users are not switched on: a name and a password are no reason to stop.
      if (cause instanceof Error && cause.message.includes('authentication is not enabled')) {
        return undefined;
      }
      const error = toFencepostError(cause, this.#context(member.name, 'connect', timeoutMs));
      throw password === undefined && error.code === 'wrong-password'
        ? passwordNeeded(this.display, name)
        : error;
    }
  }

  #context(member: string, doing: ErrorContext['doing'], timeoutMs: number): ErrorContext {
    return { display: this.display, member, doing, username: this.#target.username, timeoutMs };
  }
}

/** Signing in and choosing a member are shared by callers: one of them may not end it for all. */
const unabortable = new AbortController().signal;

function seesLeader({ status, error }: MemberAnswer): boolean {
  return error === undefined && status?.leader !== '0';
}

function unusable(display: string, answers: readonly MemberAnswer[]): FencepostError {
  const alone = answers.length === 1 ? answers[0] : undefined;
  if (alone?.error !== undefined) return alone.error;
  const answering = answers.filter((one) => one.error === undefined);
  if (answering.length === 0) {
    return new TargetError(
      `cannot reach ${display}: ${answers.map((one) => one.error?.message ?? '').join('; ')}`,
      {
        code: 'target-unreachable',
        hint: 'is the cluster up, and are these the client ports?',
        definite: true,
      },
    );
  }
  const each = answers.map(({ member, error }) =>
    error === undefined ? `${member} sees no leader` : `${member} does not answer`,
  );
  return new TargetError(`${display} has no leader: ${each.join(', ')}`, {
    code: 'no-leader',
    hint: 'a majority of the members must run and see each other; nothing can be read reliably until then',
    definite: true,
  });
}

function noLeader(display: string, member: string): TargetError {
  return new TargetError(`${member} of ${display} sees no leader`, {
    code: 'no-leader',
    definite: true,
  });
}

function passwordNeeded(display: string, user: string): PermissionError {
  return new PermissionError(
    `${display} wants the password of user "${user}", and none was given`,
    {
      code: 'password-needed',
      hint: 'set FENCEPOST_PASSWORD, or use --password-file FILE',
      definite: true,
    },
  );
}

/** The caller gave up; nothing more is sent. */
export function interrupted(): Interrupted {
  return new Interrupted('interrupted', { code: 'interrupted' });
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
