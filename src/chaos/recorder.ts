/** The only writer of a run's history: numbers events in the order of observation, on one clock. */
import type { History, HistoryEvent, HistoryHeader } from '../domain/event.ts';

type Unnumbered<E> = E extends HistoryEvent ? Omit<E, 'seq' | 'atNs'> & { atNs?: bigint } : never;
/** An event without its number. Without `atNs` it gets the moment of recording. */
export type NewEvent = Unnumbered<HistoryEvent>;

export class Recorder {
  readonly #header: HistoryHeader;
  readonly #originNs: bigint;
  readonly #events: HistoryEvent[] = [];
  #beganNs = 0n;

  /** @param originNs monotonic ns (process.hrtime) that count as the begin of the run */
  constructor(header: Omit<HistoryHeader, 'schemaVersion' | 'kind'>, originNs: bigint) {
    this.#header = { schemaVersion: 1, kind: 'header', ...header };
    this.#originNs = originNs;
  }

  record(event: NewEvent): HistoryEvent {
    const numbered: HistoryEvent = { atNs: this.nowNs(), ...event, seq: this.#events.length };
    this.#events.push(numbered);
    return numbered;
  }

  /** Monotonic ns since the run began. */
  nowNs(): bigint {
    return process.hrtime.bigint() - this.#originNs;
  }

  /** A stamp of any process on this host's monotonic clock, as ns since the run began. */
  toRunNs(monotonicNs: string | bigint): bigint {
    return BigInt(monotonicNs) - this.#originNs;
  }

  /** The script begins now: reports count from here. */
  markBegin(): void {
    this.#beganNs = this.nowNs();
  }

  /** Milliseconds since the script began, for reports. */
  reportMs(atNs = this.nowNs()): number {
    return Math.round(Number(atNs - this.#beganNs) / 1e4) / 100;
  }

  /** The instant of a report's time on this host's monotonic clock. */
  monotonicNs(reportMs: number): bigint {
    return this.#originNs + this.#beganNs + BigInt(Math.round(reportMs * 1e6));
  }

  get events(): readonly HistoryEvent[] {
    return this.#events;
  }

  history(): History {
    return { header: this.#header, events: [...this.#events] };
  }
}
