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
import { attemptsOf } from './attempts.ts';
import { buildGrants, sharingOf, type IndexOptions, type OpenOperation } from './build-grants.ts';
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
  const pairing = new Pairing();
  const operations: OpenOperation[] = [];
  const locks = new Map<string, OpenLock>();
  const faults: FaultEvent[] = [];
  let endNs = 0;
  for (const event of history.events) {
    const atNs = timeOf(event);
    if (event.clock === undefined) endNs = Math.max(endNs, atNs);
    if (event.kind === 'fault') faults.push(event);
    else if (event.kind === 'complete') pairing.complete(event, atNs);
    else {
      const lock = lockOf(locks, event.lock);
      lock.clocks.add(event.clock ?? history.header.clock);
      if (event.kind === 'invoke') {
        const operation = pairing.begin(event, atNs);
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
  return {
    header: history.header,
    events: history.events,
    operations,
    locks: finish(locks, timeOf, options),
    faults,
    pairingProblem: pairing.problem,
    endNs,
    timeOf,
  };
}

function finish(
  locks: ReadonlyMap<string, OpenLock>,
  timeOf: (event: HistoryEvent) => number,
  options: IndexOptions,
): ReadonlyMap<string, LockHistory> {
  const finished = new Map<string, LockHistory>();
  for (const [name, { timeline, operations, observations, notices, clocks }] of locks) {
    const grants = buildGrants(timeline, timeOf, options);
    // After the grants: an attempt takes its token from its grant where it names none.
    const attempts = attemptsOf(operations, observations);
    const shared = operations.some(({ invoke }) => sharingOf(invoke) !== undefined);
    finished.set(name, {
      ...{ name, operations, grants, shared, attempts, observations, notices, clocks },
    });
  }
  return finished;
}

/** Pairs completions with invocations, and keeps the first thing that cannot be paired. */
class Pairing {
  problem: string | undefined;
  /** Only what is still open: a map of a million finished operations would cost seconds. */
  readonly #open = new Map<string, OpenOperation>();
  readonly #ids = new Set<string>();

  begin(invoke: InvokeEvent, startNs: number): OpenOperation {
    const operation: OpenOperation = {
      invoke,
      complete: undefined,
      outcome: 'unknown',
      startNs,
      replyNs: Infinity,
      grant: undefined,
    };
    if (this.#ids.has(invoke.op)) {
      this.problem ??= `event ${invoke.seq} uses the operation id "${invoke.op}" again`;
    } else {
      this.#ids.add(invoke.op);
      this.#open.set(invoke.op, operation);
    }
    return operation;
  }

  complete(event: CompleteEvent, atNs: number): void {
    const operation = this.#open.get(event.op);
    const { seq, op } = event;
    if (operation === undefined) {
      const what = this.#ids.has(op) ? 'a second time' : 'which was never invoked';
      this.problem ??= `event ${seq} completes "${op}" ${what}`;
      return;
    }
    this.#open.delete(op);
    operation.complete = event;
    operation.outcome = event.outcome;
    if (event.outcome !== 'unknown') operation.replyNs = atNs;
    if (operation.invoke.clock !== event.clock || event.atNs < operation.invoke.atNs) {
      this.problem ??= `event ${seq} completes "${op}" before it was invoked, or on another clock`;
    }
  }
}

/** Instants count from the earliest event of each clock, so that they are small and exact. */
function instants({ events }: History): (event: HistoryEvent) => number {
  const bases = new Map<string | undefined, bigint>();
  let largest = 0n;
  for (const { clock, atNs } of events) {
    const base = bases.get(clock);
    if (base === undefined || atNs < base) bases.set(clock, atNs);
    if (atNs > largest) largest = atNs;
  }
  const only = bases.get(undefined) ?? 0n;
  const small = bases.size <= 1 && bases.has(undefined) && only >= 0n;
  if (small && largest <= BigInt(Number.MAX_SAFE_INTEGER)) {
    // The usual history, a million events long: no bigint is made for each of them.
    const base = Number(only);
    return ({ atNs }) => Number(atNs) - base;
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
