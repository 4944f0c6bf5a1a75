/**
 * A history indexed once for all checkers: operations paired, grants built, facts by lock.
 * Instants are numbers: nanoseconds since the first event of the same clock, `Infinity` for never.
 * They are exact below 2^53 ns (104 days); the assumptions check refuses longer histories.
 */
import type {
  CompleteEvent,
  FaultEvent,
  HistoryEvent,
  HistoryHeader,
  InvokeEvent,
  NoticeEvent,
  ObservationEvent,
  Outcome,
} from '../domain/event.ts';

/** One operation: its invocation and, if it came, its completion. None means unknown, open for ever. */
export interface Operation {
  readonly invoke: InvokeEvent;
  readonly complete: CompleteEvent | undefined;
  /** `unknown` for an operation still open at the end. */
  readonly outcome: Outcome;
  readonly startNs: number;
  /** Infinity after `unknown`: it may take effect at any later time. */
  readonly replyNs: number;
  /** The grant this operation made or was done under, as far as owner and worker tell. */
  readonly grant: Grant | undefined;
}

/** Of all shared grants at one instant, at most `limit` permits are out; Infinity for read locks. */
export interface Sharing {
  readonly permits: number;
  readonly limit: number;
}

/** One grant of a lock that its holder knows of. */
export interface Grant {
  readonly lock: string;
  readonly worker: string;
  readonly process: string;
  readonly owner: string | undefined;
  readonly fence: bigint | undefined;
  /** Place among the lock's grants, in the order of their replies. */
  readonly index: number;
  /** How it may stand beside others; undefined when it is exclusive. */
  readonly sharing: Sharing | undefined;
  /** How often its owner surely holds it (reentrant locks): it is free at 0. */
  readonly depth: number;
  /** The operation whose reply proved the grant: an acquire, or a confirm after a lost reply. */
  readonly proof: Operation;
  /** Invocation of the acquire: the grant cannot be older. */
  readonly startNs: number;
  /** Reply: from here on the lock was held in every explanation. */
  readonly grantedNs: number;
  /** The holder's own deadline, renewals included; Infinity without a lease. */
  readonly validUntilNs: number;
  /** The lease granted (or asked, where the history does not tell), in ms. */
  readonly leaseMs: number | undefined;
  /** Renewals answered ok, in order. */
  readonly renewals: readonly Operation[];
  readonly release: Operation | undefined;
  /** When the holder was told that it had lost the lock; Infinity if never. */
  readonly lossNs: number;
  readonly lossSeq: number | undefined;
  /** End of what was surely held: release invoked, loss told, or validity over. */
  readonly endNs: number;
  /** The service or an operator ended the record by this fact, which the lease did not foresee. */
  readonly endedBy: ObservationEvent | undefined;
}

/**
 * - `counted`: accepted by the resource; `refused`: it arrived and the resource said no
 * - `repeated`: an idempotent answer, nothing further was done
 * - `absent`: surely no effect, and no sign that it arrived
 * - `maybe`: reply lost and no ledger settles it
 */
export type Fate = 'counted' | 'refused' | 'repeated' | 'absent' | 'maybe';

export interface Attempt {
  readonly operation: Operation;
  readonly fate: Fate;
  readonly fence: bigint | undefined;
  readonly owner: string | undefined;
  /** Resource and subject: one fenced row. */
  readonly row: string;
  /** The resource's own order of accepted writes in this row. */
  readonly version: bigint | undefined;
  /** Events that show the fate: the completion, or the ledger row. */
  readonly seqs: readonly number[];
}

/** Everything the history says of one lock. */
export interface LockHistory {
  readonly name: string;
  readonly operations: readonly Operation[];
  readonly grants: readonly Grant[];
  /** Read locks or permits were asked for: their grants may overlap, and have no order. */
  readonly shared: boolean;
  /** Writes, effects and checkpoints among the operations. */
  readonly attempts: readonly Attempt[];
  readonly observations: readonly ObservationEvent[];
  readonly notices: readonly NoticeEvent[];
  /** Clocks that its events name; their instants are compared only when there is one. */
  readonly clocks: ReadonlySet<string>;
}

export interface HistoryIndex {
  readonly header: HistoryHeader;
  readonly events: readonly HistoryEvent[];
  readonly operations: readonly Operation[];
  readonly locks: ReadonlyMap<string, LockHistory>;
  readonly faults: readonly FaultEvent[];
  /** The first completion or invocation that cannot be paired, as a sentence. */
  readonly pairingProblem: string | undefined;
  /** Instant of the last event of the header's clock. */
  readonly endNs: number;
  timeOf(event: HistoryEvent): number;
}
