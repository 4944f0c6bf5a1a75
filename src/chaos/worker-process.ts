/** One running worker process: its messages in, operations out, signals to its group, its end. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { FencepostError, TargetError, UsageError } from '../domain/errors.ts';
import { LineSplitter } from '../domain/line-splitter.ts';
import { stringToText } from '../domain/text.ts';
import {
  openProcessReader,
  signalGroup,
  type ProcessIdentity,
} from '../processes/process-evidence.ts';
import {
  encodeMessage,
  workerMessage,
  type ControllerMessage,
  type InitMessage,
  type OpMessage,
  type ParkedMessage,
  type ReadyMessage,
  type ResultMessage,
  type WorkerMessage,
} from './worker-protocol.ts';
import type { ClockCheck, Received, WorkerExit, WorkerHandle } from './worker.ts';

interface PendingOperation {
  readonly op: OpMessage;
  readonly sentAtNs: bigint;
  invokedAtNs: string | undefined;
  readonly result: Deferred<ResultMessage>;
  readonly parked: Deferred<ParkedMessage | undefined>;
}

const stderrLinesKept = 40;
/** Pipes that a grandchild still holds open must not hide that the worker has ended. */
const drainMs = 500;

export class WorkerProcess implements WorkerHandle {
  readonly id: string;
  readonly exit: Promise<WorkerExit>;
  readonly #program: string;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #spawned: Promise<void>;
  /** Until it is identified, and if it has ended by then, no process has this start time. */
  #group: ProcessIdentity = { pid: 0, startTime: 'unknown' };
  readonly #ready = deferred<ReadyMessage | undefined>();
  readonly #operations = new Map<string, PendingOperation>();
  readonly #pings = new Map<number, Deferred<ClockCheck>>();
  readonly #listeners = new Set<(received: Received) => void>();
  readonly #problems: FencepostError[] = [];
  readonly #stderr: string[] = [];
  #backlog: Received[] | undefined = [];
  #lastHeartbeat: WorkerHandle['lastHeartbeat'];
  #readyMessage: ReadyMessage | undefined;
  #ended: WorkerExit | undefined;
  #nonce = 0;

  constructor(id: string, program: string, child: ChildProcessWithoutNullStreams) {
    this.id = id;
    this.#program = program;
    this.#child = child;
    this.#spawned = new Promise((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    this.#readLines(child.stdout, (line) => {
      this.#receive(line);
    });
    this.#readLines(child.stderr, (line) => {
      this.#stderr.push(stringToText(line));
      if (this.#stderr.length > stderrLinesKept) this.#stderr.shift();
    });
    // Writing to a worker that has just ended: its exit tells, this adds nothing.
    child.stdin.on('error', () => undefined);
    this.exit = this.#watchExit();
  }

  get group(): ProcessIdentity {
    return this.#group;
  }

  /** Waits for the process and notes who it is. @throws {UsageError} `worker-not-started` */
  async identify(): Promise<ProcessIdentity> {
    try {
      await this.#spawned;
    } catch (cause) {
      throw new UsageError(`worker ${this.id} did not start: ${this.#program}`, {
        code: 'worker-not-started',
        hint: 'check that the worker command can be run in the folder of the scenario file',
        cause,
        definite: true,
      });
    }
    const pid = this.#child.pid ?? 0;
    const facts = await openProcessReader().read(pid);
    this.#group = { pid, startTime: facts?.startTime ?? 'gone' };
    return this.#group;
  }

  get ready(): ReadyMessage {
    if (this.#readyMessage !== undefined) return this.#readyMessage;
    throw new FencepostError(`worker ${this.id} is not ready`, { code: 'worker-not-ready' });
  }

  get lastHeartbeat(): WorkerHandle['lastHeartbeat'] {
    return this.#lastHeartbeat;
  }

  /** Sends `init` and waits for `ready`. @throws {FencepostError} `worker-not-ready` */
  async begin(init: InitMessage, timeoutMs: number): Promise<this> {
    this.#send(init);
    const ready = await within(this.#ready.promise, timeoutMs);
    if (ready !== undefined) return this;
    const stderr = this.#stderr.slice(-5).join('\n');
    const how =
      this.#ended === undefined ? `was not ready within ${timeoutMs} ms` : 'ended at once';
    throw new TargetError(`worker ${this.id} ${how}`, {
      code: 'worker-not-ready',
      hint: stderr === '' ? 'it wrote nothing on stderr' : `its last words:\n${stderr}`,
      definite: true,
    });
  }

  send(op: OpMessage): Promise<ResultMessage> {
    const pending: PendingOperation = {
      op,
      sentAtNs: process.hrtime.bigint(),
      invokedAtNs: undefined,
      result: deferred(),
      parked: deferred(),
    };
    this.#operations.set(op.id, pending);
    if (this.#ended === undefined) this.#send(op);
    else this.#abandon(pending, 'worker-exited');
    return pending.result.promise;
  }

  parked(id: string): Promise<ParkedMessage | undefined> {
    return this.#operations.get(id)?.parked.promise ?? Promise.resolve(undefined);
  }

  go(id: string): void {
    this.#send({ type: 'go', id });
  }

  starve(untilGone: string, atMostMs: number): void {
    this.#send({ type: 'starve', untilGone, atMostMs });
  }

  async checkClock(timeoutMs: number): Promise<ClockCheck> {
    this.#nonce += 1;
    const nonce = this.#nonce;
    const pong = deferred<ClockCheck>();
    this.#pings.set(nonce, pong);
    const sentNs = process.hrtime.bigint();
    this.#send({ type: 'ping', nonce });
    const check = await within(pong.promise, timeoutMs);
    this.#pings.delete(nonce);
    if (check === undefined) {
      throw new FencepostError(`worker ${this.id} did not answer a ping within ${timeoutMs} ms`, {
        code: 'worker-silent',
      });
    }
    const { workerNs, receivedNs } = check;
    return { sentNs, workerNs, receivedNs, shared: sentNs <= workerNs && workerNs <= receivedNs };
  }

  onMessage(listener: (received: Received) => void): () => void {
    const backlog = this.#backlog ?? [];
    this.#backlog = undefined;
    this.#listeners.add(listener);
    for (const received of backlog) listener(received);
    return () => this.#listeners.delete(listener);
  }

  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): Promise<boolean> {
    return signalGroup(this.group, name);
  }

  stderrTail(): readonly string[] {
    return [...this.#stderr];
  }

  problems(): readonly FencepostError[] {
    return [...this.#problems];
  }

  async close(graceMs: number): Promise<WorkerExit> {
    this.#child.stdin.end();
    const exit = await within(this.exit, graceMs);
    if (exit !== undefined) return exit;
    await this.signal('SIGKILL');
    return this.exit;
  }

  #send(message: ControllerMessage): void {
    if (this.#child.stdin.writable) this.#child.stdin.write(encodeMessage(message));
  }

  #readLines(stream: NodeJS.ReadableStream, take: (line: string) => void): void {
    const lines = new LineSplitter();
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => {
      try {
        lines.push(chunk).forEach(take);
      } catch (cause) {
        this.#problem('a line without an end', cause);
      }
    });
  }

  #receive(line: string): void {
    let message: WorkerMessage;
    try {
      message = workerMessage.parse(JSON.parse(line));
    } catch (cause) {
      this.#problem(`"${stringToText(line.slice(0, 200))}"`, cause);
      return;
    }
    const received: Received = { message, receivedAtNs: process.hrtime.bigint() };
    this.#backlog?.push(received);
    for (const listener of this.#listeners) listener(received);
    this.#settle(received);
  }

  #settle({ message, receivedAtNs }: Received): void {
    switch (message.type) {
      case 'ready':
        this.#readyMessage = message;
        this.#ready.resolve(message);
        return;
      case 'heartbeat':
        this.#lastHeartbeat = { message, receivedAtNs };
        return;
      case 'pong':
        this.#pings.get(message.nonce)?.resolve({
          sentNs: 0n,
          workerNs: BigInt(message.atNs),
          receivedNs: receivedAtNs,
          shared: false,
        });
        return;
      case 'invoked':
      case 'parked':
      case 'result':
        this.#settleOperation(message);
        return;
      case 'lost':
      case 'bye':
        return;
    }
  }

  #settleOperation(message: WorkerMessage & { type: 'invoked' | 'parked' | 'result' }): void {
    const pending = this.#operations.get(message.id);
    if (pending === undefined) {
      const own = message.type !== 'parked' && message.automatic;
      if (!own) this.#problem(`"${message.type}" for an operation that is not running`);
      return;
    }
    if (message.type === 'invoked') pending.invokedAtNs = message.atNs;
    if (message.type === 'parked') pending.parked.resolve(message);
    if (message.type !== 'result') return;
    this.#operations.delete(message.id);
    pending.parked.resolve(undefined);
    pending.result.resolve(message);
  }

  #problem(what: string, cause?: unknown): void {
    this.#problems.push(
      new FencepostError(`worker ${this.id} broke the worker protocol: ${what}`, {
        code: 'worker-protocol',
        hint: 'its stdout carries messages of the worker protocol only; logs go to stderr',
        cause,
      }),
    );
    for (const pending of this.#operations.values()) this.#abandon(pending, 'worker-protocol');
  }

  /** The operation may have happened at any time from its sending on. */
  #abandon(pending: PendingOperation, code: 'worker-exited' | 'worker-protocol'): void {
    const { id, action } = pending.op;
    this.#operations.delete(id);
    pending.parked.resolve(undefined);
    pending.result.resolve({
      type: 'result',
      id,
      action,
      automatic: false,
      outcome: 'unknown',
      code,
      invokedAtNs: pending.invokedAtNs ?? String(pending.sentAtNs),
      completedAtNs: String(process.hrtime.bigint()),
    });
  }

  async #watchExit(): Promise<WorkerExit> {
    const closed = deferred<undefined>();
    this.#child.once('close', () => {
      closed.resolve(undefined);
    });
    const exit = await new Promise<WorkerExit>((resolve) => {
      this.#child.once('exit', (code, signal) => {
        resolve({ code, signal, atNs: process.hrtime.bigint() });
      });
    });
    await within(closed.promise, drainMs);
    this.#ended = exit;
    this.#ready.resolve(undefined);
    await killRest(this.#child.pid);
    for (const pending of this.#operations.values()) this.#abandon(pending, 'worker-exited');
    return exit;
  }
}

/** Helpers that outlive the leader keep its group, so its number cannot belong to others yet. */
async function killRest(pgid: number | undefined): Promise<void> {
  if (pgid === undefined) return;
  const rest = await openProcessReader().readGroup(pgid);
  if (rest.length === 0) return;
  try {
    process.kill(-pgid, 'SIGKILL');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return;
    throw error;
  }
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
}

/** A promise with its resolve function outside. */
function deferred<T>(): Deferred<T> {
  let settle: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => {
    settle = resolve;
  });
  return { promise, resolve: settle };
}

/** The value, or undefined when `timeoutMs` passed first. */
function within<T>(promise: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      resolve(undefined);
    }, timeoutMs);
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}
