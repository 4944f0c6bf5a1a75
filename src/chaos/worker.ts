/**
 * Workers as the runner sees them: separate processes in process groups of their own, spoken to in
 * the worker protocol. Implemented by worker-pool.ts.
 */
import type { FencepostError } from '../domain/errors.ts';
import type { ProcessIdentity } from '../processes/process-evidence.ts';
import type {
  HeartbeatMessage,
  InitMessage,
  OpMessage,
  ParkedMessage,
  ReadyMessage,
  ResultMessage,
  WorkerMessage,
} from './worker-protocol.ts';

export interface WorkerCommand {
  /** Program and arguments of a user's own worker; undefined: the default worker. */
  readonly argv?: readonly [string, ...string[]];
  /** Where it runs; undefined: where this program runs. */
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** How a worker process ended. */
export interface WorkerExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Monotonic ns when the controller noticed. */
  readonly atNs: bigint;
}

/** A message with the controller's own stamp of its arrival. */
export interface Received {
  readonly message: WorkerMessage;
  readonly receivedAtNs: bigint;
}

/** One round trip that shows whether the worker reads the same monotonic clock as we do. */
export interface ClockCheck {
  readonly sentNs: bigint;
  readonly workerNs: bigint;
  readonly receivedNs: bigint;
  /** sentNs ≤ workerNs ≤ receivedNs. Without it no times of this worker may be compared. */
  readonly shared: boolean;
}

export interface WorkerHandle {
  readonly id: string;
  /** Leader of its own process group: pgid equals pid. */
  readonly group: ProcessIdentity;
  readonly ready: ReadyMessage;
  /**
   * Sends one operation and resolves with its result. Never rejects for what the worker did: when
   * it exits, or breaks the protocol, before the result, the outcome is `unknown` with code
   * `worker-exited` or `worker-protocol` and no worker stamps beyond what was received.
   */
  send(op: OpMessage): Promise<ResultMessage>;
  /** Resolves when operation `id` parks; undefined when its result came instead. */
  parked(id: string): Promise<ParkedMessage | undefined>;
  /** Has the event loop blocked; the worker must honour `starve`. */
  starve(untilGone: string, atMostMs: number): void;
  /** Lets a parked operation continue. Its result arrives on the promise that `send` returned. */
  go(id: string): void;
  /** @throws {FencepostError} `worker-silent` when no pong comes within `timeoutMs` */
  checkClock(timeoutMs: number): Promise<ClockCheck>;
  /** Every message in order of arrival, from the first on. Returns the unsubscribe function. */
  onMessage(listener: (received: Received) => void): () => void;
  readonly lastHeartbeat:
    { readonly message: HeartbeatMessage; readonly receivedAtNs: bigint } | undefined;
  /** SIGSTOP, SIGCONT or SIGKILL to the whole group; false when that very process is gone. */
  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): Promise<boolean>;
  /** Settles when the process has ended. */
  readonly exit: Promise<WorkerExit>;
  /** Last lines of stderr, escaped. */
  stderrTail(): readonly string[];
  /** Lines that broke the worker protocol, escaped. Not empty: the run is inconclusive. */
  problems(): readonly FencepostError[];
  /** Ends stdin, waits `graceMs`, then SIGKILL (also of a stopped group). Idempotent. */
  close(graceMs: number): Promise<WorkerExit>;
}

export interface WorkerPool {
  /**
   * Spawns one worker detached, in its own process group, sends `init`, waits for `ready`.
   * @throws {FencepostError} `worker-not-ready` with its stderr, after killing it
   */
  start(
    init: InitMessage,
    command: WorkerCommand,
    readyTimeoutMs: number,
    /** Called as soon as the process exists, before `init`: the undo journal records it. */
    onSpawn?: (group: ProcessIdentity) => void | Promise<void>,
  ): Promise<WorkerHandle>;
  /** Closes all; a stopped worker is killed, never resumed: a resumed orphan would write. */
  close(): Promise<void>;
}
