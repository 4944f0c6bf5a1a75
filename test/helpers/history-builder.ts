/** Writes small histories in milliseconds; events are numbered by time when built. */
import type {
  Action,
  CompleteEvent,
  HistoryEvent,
  HistoryHeader,
  History,
  InvokeEvent,
  ObservationEvent,
  Outcome,
} from '../../src/domain/event.ts';

type Unnumbered<E> = E extends HistoryEvent ? Omit<E, 'seq'> : never;

export interface OperationFields {
  readonly invoke?: Partial<InvokeEvent>;
  readonly complete?: Partial<CompleteEvent>;
}

export const lockName = 'lock:o';

export class HistoryBuilder {
  readonly #events: Unnumbered<HistoryEvent>[] = [];
  readonly #header: Partial<HistoryHeader>;
  #operations = 0;

  constructor(header: Partial<HistoryHeader> = {}) {
    this.#header = header;
  }

  /** One operation; without `outcome` it stays open. Owner is `WORKER-owner` unless given. */
  op(
    action: Action,
    worker: string,
    [startMs, replyMs]: readonly [number, number],
    outcome: Outcome | undefined,
    fields: OperationFields = {},
  ): this {
    this.#operations += 1;
    const op = `op${this.#operations}`;
    this.#events.push({
      kind: 'invoke',
      atNs: ns(startMs),
      process: worker,
      source: 'worker',
      op,
      action,
      worker,
      attempt: 1,
      lock: lockName,
      owner: `${worker}-owner`,
      ...fields.invoke,
    });
    if (outcome === undefined) return this;
    this.#events.push({
      kind: 'complete',
      atNs: ns(replyMs),
      process: worker,
      source: 'worker',
      op,
      outcome,
      ...fields.complete,
    });
    return this;
  }

  /** An acquire that was granted with a token and a lease of 1000 ms. */
  granted(worker: string, times: readonly [number, number], fence: bigint, leaseMs = 1000): this {
    return this.op('acquire', worker, times, 'ok', { complete: { fence, grantedTtlMs: leaseMs } });
  }

  /** A write on order `o-1` under token `fence`. */
  write(
    worker: string,
    times: readonly [number, number],
    fence: bigint,
    result: 'accepted' | 'refused' | 'unknown',
    fields: OperationFields = {},
  ): this {
    const outcome = { accepted: 'ok', refused: 'fail', unknown: 'unknown' } as const;
    return this.op('write', worker, times, outcome[result], {
      invoke: {
        fence,
        resource: 'orders',
        business: 'close-order',
        subject: 'o-1',
        effectId: 'close-o-1',
        ...fields.invoke,
      },
      complete: {
        ...(result === 'accepted' ? { accepted: true } : {}),
        ...(result === 'refused' ? { accepted: false, code: 'stale-token' } : {}),
        ...fields.complete,
      },
    });
  }

  release(
    worker: string,
    times: readonly [number, number],
    outcome: Outcome = 'ok',
    code?: string,
  ): this {
    return this.op('release', worker, times, outcome, {
      complete: code === undefined ? {} : { code },
    });
  }

  observe(
    atMs: number,
    fact: ObservationEvent['fact'],
    fields: Partial<ObservationEvent> = {},
  ): this {
    this.#events.push({
      kind: 'observation',
      atNs: ns(atMs),
      process: 'observer',
      source: 'service',
      fact,
      lock: lockName,
      witness: 'test',
      ...fields,
    });
    return this;
  }

  /** One accepted row of the orders' ledger, unless said otherwise. */
  row(atMs: number, order: bigint, fields: Partial<ObservationEvent> = {}): this {
    return this.observe(atMs, 'effect-row', {
      resource: 'orders',
      business: 'close-order',
      subject: 'o-1',
      effectId: 'close-o-1',
      accepted: true,
      order,
      ...fields,
    });
  }

  ledgerRead(atMs: number): this {
    return this.observe(atMs, 'read-to-end', { resource: 'orders' });
  }

  lost(worker: string, atMs: number): this {
    this.#events.push({
      kind: 'notice',
      notice: 'lost',
      atNs: ns(atMs),
      process: worker,
      source: 'worker',
      worker,
      lock: lockName,
      owner: `${worker}-owner`,
    });
    return this;
  }

  /** A fault with its proven begin and, unless `toMs` is undefined, its proven end. */
  fault(fault: string, target: string, fromMs: number, toMs: number | undefined): this {
    const evidence = [{ source: 'test', fact: 'seen', proves: fault, holds: true }];
    const base = { kind: 'fault', process: 'nemesis', source: 'driver', fault, target } as const;
    const faultId = `${fault}-${fromMs}`;
    this.#events.push({ ...base, faultId, phase: 'begin', atNs: ns(fromMs), evidence });
    if (toMs === undefined) return this;
    this.#events.push({ ...base, faultId, phase: 'end', atNs: ns(toMs), evidence });
    return this;
  }

  build(): History {
    const sorted = [...this.#events].sort((a, b) => Number(a.atNs - b.atNs));
    return {
      header: { schemaVersion: 1, kind: 'header', clock: 'test', ...this.#header },
      events: sorted.map((event, seq) => ({ ...event, seq })),
    };
  }
}

function ns(ms: number): bigint {
  return BigInt(Math.round(ms * 1e6));
}
