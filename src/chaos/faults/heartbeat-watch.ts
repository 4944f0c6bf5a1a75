/** The silence of a worker, told by the worker's own sequence: its heartbeats must have a hole. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Evidence } from '../../domain/evidence.ts';
import type { Received, WorkerHandle } from '../worker.ts';

const deadlineMs = 2000;
const lookEveryMs = 5;

/** Begins when it is made: the worker must be silent by then. */
export class HeartbeatWatch {
  readonly #worker: WorkerHandle;
  readonly #beatsNs: bigint[] = [];
  readonly #beganNs = process.hrtime.bigint();
  readonly #unsubscribe: () => void;

  constructor(worker: WorkerHandle) {
    this.#worker = worker;
    this.#unsubscribe = worker.onMessage(({ message }: Received) => {
      if (message.type === 'heartbeat') this.#beatsNs.push(BigInt(message.atNs));
    });
  }

  /**
   * Waits for the first heartbeat after the silence.
   * @param fault what made it silent, in a word
   * @param endingNs monotonic ns just before the fault was undone
   */
  async evidence(fault: string, endingNs: bigint, nowNs: () => bigint): Promise<Evidence> {
    const deadline = performance.now() + deadlineMs;
    // Heartbeats written before the silence may be read after it; their own stamps tell them apart.
    const first = (): bigint | undefined => this.#beatsNs.find((at) => at > this.#beganNs);
    while (first() === undefined && performance.now() < deadline) await delay(lookEveryMs);
    this.#unsubscribe();
    const next = first();
    const ms = (ns: bigint): string => (Number(ns) / 1e6).toFixed(0);
    return {
      source: 'heartbeats',
      atNs: nowNs(),
      fact:
        next === undefined
          ? 'no heartbeat after it was resumed'
          : `no heartbeat for ${ms(next - this.#beganNs)} ms, then again`,
      proves: `worker ${this.#worker.id} was silent for the ${ms(endingNs - this.#beganNs)} ms of its ${fault}`,
      holds: next !== undefined && next >= endingNs,
    };
  }
}
