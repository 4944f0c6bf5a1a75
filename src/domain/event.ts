/**
 * History format v1: JSON Lines, a header line and one event a line. In JSON, 64-bit numbers are
 * decimal strings. Documented for other programs by the JSON Schema that `fencepost check --schema`
 * prints.
 */
import type { Evidence } from './evidence.ts';
import type { FencingToken } from './fence.ts';
import type { InvariantSpec } from './scenario.ts';

/** ok: took effect between invoke and complete. fail: surely no effect. unknown: maybe, once, at any later time. */
export type Outcome = 'ok' | 'fail' | 'unknown';

export type Action =
  'acquire' | 'confirm' | 'renew' | 'release' | 'write' | 'effect' | 'checkpoint';

export type EventSource = 'worker' | 'proxy' | 'service' | 'resource' | 'driver';

export interface HistoryHeader {
  readonly schemaVersion: 1;
  readonly kind: 'header';
  readonly runId?: string;
  readonly scenario?: string;
  readonly scenarioHash?: string;
  readonly tool?: string;
  readonly seed?: string;
  /** Names the clock of `atNs`. Events that name another clock are never subtracted from it. */
  readonly clock: string;
  /** How the protected resource compares fences. */
  readonly accept?: 'greater' | 'greater-or-equal' | 'any';
  /** What must hold, as its author declared it; `check` judges these unless told otherwise. */
  readonly invariants?: readonly InvariantSpec[];
}

interface EventBase {
  /** Dense from 0, given by the recorder: the order of observation. */
  readonly seq: number;
  /** Monotonic nanoseconds since the run began, on `clock`. */
  readonly atNs: bigint;
  /** Only when it differs from the header's clock. */
  readonly clock?: string;
  /** `A`, `B`, `nemesis`, `observer`. A worker continues under a new id after an unknown outcome. */
  readonly process: string;
  readonly source: EventSource;
}

/** A worker begins an operation; stamped before the request leaves. */
export interface InvokeEvent extends EventBase {
  readonly kind: 'invoke';
  /** Unique id of this operation in the history. */
  readonly op: string;
  readonly action: Action;
  readonly worker: string;
  readonly attempt: number;
  readonly lock: string;
  readonly owner?: string;
  readonly fence?: FencingToken;
  readonly resource?: string;
  /** Business step of a write, effect or checkpoint: `close-order`, `pay-order`, `release-stock` … */
  readonly business?: string;
  /** What it is done to: the order, the item, the task. One fenced row of the resource. */
  readonly subject?: string;
  /** Idempotency key of a business effect. */
  readonly effectId?: string;
  readonly requestId?: string;
  readonly queuedMs?: number;
  /** Asked lease in milliseconds, on acquire and renew. */
  readonly leaseMs?: number;
  /** `shared` on acquire, renew and release of a read lock; left out, it is exclusive. */
  readonly mode?: 'exclusive' | 'shared';
  /** On an acquire of a semaphore: how many permits may be out at once. */
  readonly limit?: number;
  /** On an acquire of a semaphore: how many of them it takes; 1 when left out. */
  readonly permits?: number;
}

/** The operation's reply was parsed (ok, fail), or given up (unknown). */
export interface CompleteEvent extends EventBase {
  readonly kind: 'complete';
  readonly op: string;
  readonly outcome: Outcome;
  readonly code?: string;
  readonly fence?: FencingToken;
  /**
   * Resource writes: whether the write counted. `false` says that the resource itself refused it
   * (outcome fail), or that it repeated an effect which had counted before (outcome ok, code
   * `duplicate`). Left out where the request never reached the resource.
   */
  readonly accepted?: boolean;
  readonly grantedTtlMs?: number;
  /** The holder's own deadline on this clock, from the start of the acquire. */
  readonly validUntilNs?: bigint;
  /** Reentrant locks: how often the owner holds it after this operation, as the service said. */
  readonly holdCount?: number;
  /** Order given by the resource to accepted writes; compared only within one `subject`. */
  readonly version?: bigint;
}

export interface FaultEvent extends EventBase {
  readonly kind: 'fault';
  readonly phase: 'begin' | 'end';
  readonly fault: string;
  /** Pairs begin and end. */
  readonly faultId: string;
  readonly target?: string;
  readonly evidence: readonly Evidence[];
}

/** A worker was told, without asking, that it no longer has the lock (lost session, watch, watchdog). */
export interface NoticeEvent extends EventBase {
  readonly kind: 'notice';
  readonly notice: 'lost';
  readonly worker: string;
  readonly lock: string;
  readonly owner?: string;
  readonly fence?: FencingToken;
  readonly reason?: string;
}

/**
 * A fact read at the service or resource by somebody who is not the worker.
 * - `grant`: the service's own record of a grant, with owner and fence (`order` is its place in the service's order)
 * - `lock-state`: who held it (or `absent: true`) when read
 * - `expiry`, `removal`: the record ended; `cause` says how that is known
 * - `effect-row`: the resource's ledger shows this effect
 * - `read-to-end`: this witness's list (grants, or the ledger when `resource` is set) was read to its
 *   end, after the rows it gave: what it did not show had not happened. Written after quiescence, it
 *   is what lets the judge call an effect that nobody saw "did not happen".
 */
export interface ObservationEvent extends EventBase {
  readonly kind: 'observation';
  readonly fact: 'lock-state' | 'grant' | 'expiry' | 'removal' | 'effect-row' | 'read-to-end';
  readonly lock: string;
  readonly owner?: string;
  readonly fence?: FencingToken;
  readonly absent?: boolean;
  /** Left on the server when read, in ms. */
  readonly ttlMs?: number;
  /** removal/expiry: `released`, `expired`, `force-released`, `removed-early`, `session-ended`, `unknown`. */
  readonly cause?: string;
  /** Position in the service's or resource's own order (revision, zxid, stream index, row version). */
  readonly order?: bigint;
  /** Which of the service's histories `order` belongs to (replication id); orders compare within one. */
  readonly epoch?: string;
  readonly business?: string;
  readonly subject?: string;
  readonly effectId?: string;
  readonly accepted?: boolean;
  readonly resource?: string;
  /** Who says so: `acquire stream`, `etcd revisions`, `ledger` … */
  readonly witness: string;
}

export type HistoryEvent =
  InvokeEvent | CompleteEvent | NoticeEvent | FaultEvent | ObservationEvent;

export interface History {
  readonly header: HistoryHeader;
  readonly events: readonly HistoryEvent[];
}
