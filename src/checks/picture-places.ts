/** Where in a picture an event lies: what a violation's arrow joins. */
import type { HistoryEvent, ObservationEvent } from '../domain/event.ts';
import type { PicturePoint } from '../domain/run-picture.ts';
import { isBusiness } from './attempts.ts';
import type { HistoryIndex, Operation } from './history.ts';
import { toMs, type Lanes } from './picture-lanes.ts';

export class Places {
  readonly #index: HistoryIndex;
  readonly #lanes: Lanes;
  readonly #events: ReadonlyMap<number, HistoryEvent>;
  readonly #operations: ReadonlyMap<string, Operation>;

  constructor(index: HistoryIndex, lanes: Lanes) {
    this.#index = index;
    this.#lanes = lanes;
    this.#events = new Map(index.events.map((event) => [event.seq, event]));
    this.#operations = new Map(index.operations.map((one) => [one.invoke.op, one]));
  }

  /** The place of one event; nothing for a seq that the history does not have. */
  of(seq: number): readonly PicturePoint[] {
    const event = this.#events.get(seq);
    return event === undefined ? [] : [this.#point(event)];
  }

  #point(event: HistoryEvent): PicturePoint {
    const atMs = toMs(this.#index.timeOf(event));
    const lanes = this.#lanes;
    switch (event.kind) {
      case 'invoke':
      case 'notice':
        return { lane: lanes.worker(event.worker), atMs };
      case 'complete': {
        const invoke = this.#operations.get(event.op)?.invoke;
        const work = invoke !== undefined && isBusiness(invoke.action);
        return { lane: work ? lanes.resource(invoke.resource) : lanes.worker(event.process), atMs };
      }
      case 'observation':
        if (event.fact === 'effect-row') return this.#rowPoint(event);
        return { lane: lanes.service(event.lock), atMs };
      case 'fault':
        return { lane: lanes.knownWorker(event.target ?? '') ?? 0, atMs };
    }
  }

  /** A ledger is read at the end: its rows lie where the work that wrote them was answered. */
  #rowPoint(row: ObservationEvent): PicturePoint {
    const lane = this.#lanes.resource(row.resource);
    const wrote = [...this.#operations.values()].find(
      ({ invoke }) =>
        row.effectId !== undefined &&
        invoke.effectId === row.effectId &&
        invoke.fence === row.fence,
    );
    return { lane, atMs: toMs(wrote === undefined ? this.#index.timeOf(row) : replyOf(wrote)) };
  }
}

/** When it was answered, in ns of the index; its start where it never was. */
export function replyOf({ replyNs, startNs }: Operation): number {
  return Number.isFinite(replyNs) ? replyNs : startNs;
}
