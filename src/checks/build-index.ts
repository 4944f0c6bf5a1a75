/** Indexes a history for the checkers: pairs operations, sorts facts by lock, builds the grants. */
import type {
  CompleteEvent,
  FaultEvent,
  History,
  HistoryEvent,
  InvokeEvent,
  NoticeEvent,
  ObservationEvent,
} from '../domain/event.ts';
import { buildGrants, type IndexOptions, type OpenOperation } from './build-grants.ts';
import type { HistoryIndex, LockHistory } from './history.ts';

interface OpenLock {
  readonly name: string;
  readonly operations: OpenOperation[];
  readonly observations: ObservationEvent[];
  readonly notices: NoticeEvent[];
  readonly timeline: (OpenOperation | NoticeEvent | ObservationEvent)[];
  readonly clocks: Set<string>;
}

/** Indexes `history`. Breaks of its own rules are not judged here: see assumptions.ts. */
export function buildIndex(history: History, options: IndexOptions = {}): HistoryIndex {
  const timeOf = instants(history);
  const open = new Map<string, OpenOperation>();
  const operations: OpenOperation[] = [];
  const locks = new Map<string, OpenLock>();
  const faults: FaultEvent[] = [];
  let endNs = 0;
  for (const event of history.events) {
    if (event.clock === undefined) endNs = Math.max(endNs, timeOf(event));
    if (event.kind === 'fault') faults.push(event);
    else if (event.kind === 'complete') complete(open, event, timeOf);
    else {
      const lock = lockOf(locks, event.lock);
      lock.clocks.add(event.clock ?? history.header.clock);
      if (event.kind === 'invoke') {
        const operation = begin(event, timeOf(event));
        if (!open.has(event.op)) open.set(event.op, operation);
        operations.push(operation);
        lock.operations.push(operation);
        lock.timeline.push(operation);
      } else {
        if (event.kind === 'observation') lock.observations.push(event);
        else lock.notices.push(event);
        lock.timeline.push(event);
      }
    }
  }
  const finished = new Map<string, LockHistory>();
  for (const [name, lock] of locks) {
    const { operations: own, observations, notices, clocks, timeline } = lock;
    const grants = buildGrants(timeline, timeOf, options);
    finished.set(name, { name, operations: own, grants, observations, notices, clocks });
  }
  const { header, events } = history;
  return { header, events, operations, locks: finished, faults, endNs, timeOf };
}

/** Instants count from the earliest event of each clock, so that they are small and exact. */
function instants(history: History): (event: HistoryEvent) => number {
  const bases = new Map<string | undefined, bigint>();
  for (const event of history.events) {
    const base = bases.get(event.clock);
    if (base === undefined || event.atNs < base) bases.set(event.clock, event.atNs);
  }
  return (event) => Number(event.atNs - (bases.get(event.clock) ?? 0n));
}

function lockOf(locks: Map<string, OpenLock>, name: string): OpenLock {
  const seen = locks.get(name);
  if (seen !== undefined) return seen;
  const fresh: OpenLock = {
    name,
    operations: [],
    observations: [],
    notices: [],
    timeline: [],
    clocks: new Set(),
  };
  locks.set(name, fresh);
  return fresh;
}

function begin(invoke: InvokeEvent, startNs: number): OpenOperation {
  return {
    invoke,
    complete: undefined,
    outcome: 'unknown',
    startNs,
    replyNs: Infinity,
    grant: undefined,
  };
}

function complete(
  open: ReadonlyMap<string, OpenOperation>,
  event: CompleteEvent,
  timeOf: (event: HistoryEvent) => number,
): void {
  const operation = open.get(event.op);
  if (operation === undefined || operation.complete !== undefined) return;
  operation.complete = event;
  operation.outcome = event.outcome;
  if (event.outcome !== 'unknown') operation.replyNs = timeOf(event);
}
