/** A history indexed once for all checkers: operations paired, facts by lock, faults by time. */
import type {
  CompleteEvent,
  FaultEvent,
  HistoryEvent,
  HistoryHeader,
  InvokeEvent,
  ObservationEvent,
} from '../domain/event.ts';

/** One operation: its invocation and, if it came, its completion. None means unknown, open for ever. */
export interface Operation {
  readonly invoke: InvokeEvent;
  readonly complete: CompleteEvent | undefined;
}

export interface HistoryIndex {
  readonly header: HistoryHeader;
  readonly events: readonly HistoryEvent[];
  readonly operations: readonly Operation[];
  readonly operationsByLock: ReadonlyMap<string, readonly Operation[]>;
  readonly observationsByLock: ReadonlyMap<string, readonly ObservationEvent[]>;
  readonly faults: readonly FaultEvent[];
}
