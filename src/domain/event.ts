/**
 * History format v1: JSON Lines, a header line and one event a line. In JSON, 64-bit numbers are
 * decimal strings. Documented for other programs by the JSON Schema that `fencepost check --schema`
 * prints.
 */
import type { Evidence } from './evidence.ts';
import type { FencingToken } from './fence.ts';

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
  /** Idempotency key of a business effect. */
  readonly effectId?: string;
  readonly requestId?: string;
  readonly queuedMs?: number;
  /** Asked lease in milliseconds, on acquire and renew. */
  readonly leaseMs?: number;
}

/** The operation's reply was parsed (ok, fail), or given up (unknown). */
export interface CompleteEvent extends EventBase {
  readonly kind: 'complete';
  readonly op: string;
  readonly outcome: Outcome;
  readonly code?: string;
  readonly fence?: FencingToken;
  /** Resource writes: whether the write counted. */
  readonly accepted?: boolean;
  readonly grantedTtlMs?: number;
  /** The holder's own deadline on this clock, from the start of the acquire. */
  readonly validUntilNs?: bigint;
  /** Order given by the resource to accepted writes. */
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

/**
 * A fact read at the service or resource by somebody who is not the worker.
 * - `grant`: the service's own record of a grant, with owner and fence (`order` is its place in the service's order)
 * - `lock-state`: who held it (or `absent: true`) when read
 * - `expiry`, `removal`: the record ended; `cause` says how that is known
 * - `effect-row`: the resource's ledger shows this effect
 */
export interface ObservationEvent extends EventBase {
  readonly kind: 'observation';
  readonly fact: 'lock-state' | 'grant' | 'expiry' | 'removal' | 'effect-row';
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
  readonly effectId?: string;
  readonly accepted?: boolean;
  readonly resource?: string;
  /** Who says so: `acquire stream`, `etcd revisions`, `ledger` … */
  readonly witness: string;
}

export type HistoryEvent = InvokeEvent | CompleteEvent | FaultEvent | ObservationEvent;

export interface History {
  readonly header: HistoryHeader;
  readonly events: readonly HistoryEvent[];
}
