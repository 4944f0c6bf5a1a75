/**
 * A watch as etcd itself speaks it. etcd3's own watcher hides why a watch was cancelled and opens
 * it again by itself; here a compacted start is told with its revision, and nothing is opened twice.
 */
import type { IEvent, IKeyValue, IWatchCreateRequest, IWatchRequest, IWatchResponse } from 'etcd3';
import type { FencepostError } from '../../domain/errors.ts';
import { TargetError } from '../../domain/errors.ts';
import { stringToText } from '../../domain/text.ts';
import { interrupted, type EtcdLink } from './link.ts';

export interface WatchRequest {
  readonly from: Uint8Array;
  /** Undefined: one key. */
  readonly end: Uint8Array | undefined;
  /** First revision that is told. */
  readonly startRevision: bigint;
  /** Tell what a key was before it changed. */
  readonly previous: boolean;
}

/** One change of a key. */
export interface KeyEvent extends Omit<IEvent, 'prev_kv'> {
  /** What the key was, if asked for; left out, against the library's types, when compacted already. */
  readonly prev_kv: IKeyValue | null;
}

export type WatchMessage =
  | { readonly kind: 'created' }
  /** What changed, in the order of revisions. */
  | { readonly kind: 'events'; readonly events: readonly KeyEvent[] }
  /** The answer to `askProgress`: the member has got as far as this. */
  | { readonly kind: 'progress'; readonly revision: bigint }
  /** The start is older than what the cluster keeps: since `revision` it is all there. Ends the watch. */
  | { readonly kind: 'compacted'; readonly revision: bigint };

/** One open watch. Read it by `next`; close it when done. */
export interface Watch {
  /**
   * The next message, or undefined when none came within `timeoutMs`.
   * @throws {TargetError} when the stream broke @throws {Interrupted}
   */
  next(timeoutMs: number): Promise<WatchMessage | undefined>;
  askProgress(): void;
  /** Idempotent. */
  close(): void;
}

/** The part of the stream that is used. */
interface Stream {
  write(request: IWatchRequest): void;
  end(): void;
  cancel(): void;
  on(event: 'data', listener: (message: IWatchResponse) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
}

/** Opens a watch on the member in use. */
export async function openWatch(
  link: EtcdLink,
  request: WatchRequest,
  signal: AbortSignal,
): Promise<Watch> {
  const stream: Stream = await link.stream((api, options) => api.watchClient.watch(options), {
    signal,
  });
  return new OpenWatch(link, stream, request, signal);
}

class OpenWatch implements Watch {
  readonly #stream: Stream;
  readonly #signal: AbortSignal;
  readonly #messages: WatchMessage[] = [];
  #failure: FencepostError | undefined;
  #closed = false;
  #wake: (() => void) | undefined;

  constructor(link: EtcdLink, stream: Stream, request: WatchRequest, signal: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
    stream.on('data', (message) => {
      this.#take(message);
    });
    stream.on('error', (error) => {
      this.#fail(link.translate(error));
    });
    stream.on('end', () => {
      this.#fail(new TargetError(`${link.display} ended the watch`, { code: 'target-lost' }));
    });
    const create: IWatchCreateRequest = {
      key: Buffer.from(request.from),
      ...(request.end === undefined ? {} : { range_end: Buffer.from(request.end) }),
      start_revision: String(request.startRevision),
      prev_kv: request.previous,
    };
    stream.write({ create_request: create });
  }

  async next(timeoutMs: number): Promise<WatchMessage | undefined> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      if (this.#signal.aborted) throw interrupted();
      const message = this.#messages.shift();
      if (message !== undefined) return message;
      if (this.#failure !== undefined) throw this.#failure;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return undefined;
      await this.#woken(leftMs);
    }
  }

  askProgress(): void {
    if (!this.#closed) this.#stream.write({ progress_request: {} });
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stream.end();
    this.#stream.cancel();
  }

  #woken(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#signal.removeEventListener('abort', end);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(end, timeoutMs);
      this.#signal.addEventListener('abort', end, { once: true });
      this.#wake = end;
    });
  }

  #take(message: IWatchResponse): void {
    if (message.canceled) {
      const compacted = BigInt(message.compact_revision);
      if (compacted > 0n) this.#push({ kind: 'compacted', revision: compacted });
      else this.#fail(refusedWatch(message.cancel_reason));
    } else if (message.created) this.#push({ kind: 'created' });
    else if (message.events.length > 0) this.#push({ kind: 'events', events: message.events });
    else this.#push({ kind: 'progress', revision: BigInt(message.header.revision) });
  }

  #push(message: WatchMessage): void {
    this.#messages.push(message);
    this.#wake?.();
  }

  #fail(error: FencepostError): void {
    // Our own cancel comes back as an error, too.
    if (!this.#closed) this.#failure ??= error;
    this.#wake?.();
  }
}

/** etcd cancels with an empty reason when the account may not read the whole range. */
function refusedWatch(reason: string): FencepostError {
  const text = stringToText(reason);
  return new TargetError(
    text === '' || text.includes('permission denied')
      ? 'this account may not watch the whole range'
      : `the watch was cancelled: ${text}`,
    {
      code: text === '' || text.includes('permission denied') ? 'permission-denied' : 'target-lost',
    },
  );
}

/** Longer than the interval (100 ms) in which a member brings late watches up to date. */
const settleMs = 130;
const settledAfter = { answers: 2, silences: 6 } as const;

/**
 * Reads until everything up to `revision` was told. Before 3.4.25 and 3.5.8 a member may answer a
 * progress request ahead of events that it still has to send, so two answers in a row with no event
 * between them are waited for; a member that knows no progress requests is left after a silence.
 * @returns the compact revision when the watch ended for it
 */
export async function readUntil(
  watch: Watch,
  revision: bigint,
  onEvents: (events: readonly KeyEvent[]) => void,
): Promise<bigint | undefined> {
  let [answers, silences] = [0, 0];
  while (answers < settledAfter.answers && silences < settledAfter.silences) {
    watch.askProgress();
    const until = performance.now() + settleMs;
    let heard = false;
    for (;;) {
      const message = await watch.next(Math.max(0, until - performance.now()));
      if (message === undefined) break;
      if (message.kind === 'compacted') return message.revision;
      if (message.kind === 'events') {
        onEvents(message.events);
        [answers, silences] = [0, 0];
      }
      if (message.kind === 'progress' && message.revision >= revision) heard = true;
    }
    if (heard) answers += 1;
    else silences += 1;
  }
  return undefined;
}
