/**
 * What a fault is. One fault, one file, one entry in registry.ts. Its undo is in the journal before
 * it acts, and its evidence comes from somebody else than the injector.
 */
import type { z } from 'zod';
import type { Evidence } from '../../domain/evidence.ts';
import type { OwnerToken } from '../../domain/holder.ts';
import type { BackendKind, Target } from '../../domain/target.ts';
import type { LockObserver, LockProtocol } from '../../protocols/protocol.ts';
import type { SiteServers } from '../drivers/driver.ts';
import type { WorkerProxies } from '../worker-proxies.ts';
import type { WorkerHandle } from '../worker.ts';

/** What the faults of one arm act upon, besides its workers. */
export interface FaultScene {
  readonly protocol: LockProtocol;
  /** Of our own connections: round the proxies. */
  readonly target: Target;
  /** Every key of this arm begins with it. */
  readonly prefix: string;
  readonly lock: string;
  readonly observer: LockObserver;
  /** Files of this arm; absolute. */
  readonly folder: string;
  /** The workers' renewal timer; undefined: none. */
  readonly renewEveryMs: number | undefined;
  /** Undefined: the servers are not ours. */
  readonly servers: SiteServers | undefined;
  /** Keeps the observer from looking at the lock while `work` goes on: no server may answer then. */
  readonly lookAway: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Where a fault is planned. */
export interface FaultPlace {
  readonly protocol: LockProtocol;
  readonly kind: BackendKind;
  /** Servers that are not ours. */
  readonly live: boolean;
}

export interface FaultContext extends FaultScene {
  /** Id of the step: names the fault in history and journal. */
  readonly id: string;
  readonly worker: WorkerHandle;
  readonly proxies: WorkerProxies;
  /** Owner token of the worker's latest acquire by now, granted or not. */
  readonly owner: OwnerToken | undefined;
  /** As the scenario gave them, checked by the fault's own `options`. */
  readonly options: Readonly<Record<string, string | number | boolean>>;
  /** It is ended after this time at the latest. */
  readonly lifetimeMs: number;
  /** Monotonic ns since the run began. */
  readonly nowNs: () => bigint;
  /** Writes what would undo this to the journal; on disk when it resolves. Call it before acting. */
  readonly willDo: (what: string) => Promise<void>;
  readonly signal: AbortSignal;
}

/** A fault that is on. */
export interface ActiveFault {
  /** Whom it hit: the worker's id, or the server's name. */
  readonly target: string;
  /** Proof that it began. Evidence that came out the wrong way is in it, with `holds: false`. */
  readonly evidence: readonly Evidence[];
  /** Undoes it and proves that it lasted until now. Idempotent. */
  end(): Promise<readonly Evidence[]>;
}

export interface Fault {
  readonly name: string;
  /** One line for plans and help. */
  readonly title: string;
  /** Keys a scenario may set beside `worker` and `lifetime`. */
  readonly options: z.ZodObject;
  /** `lasting` faults are ended by a step or at the end of the run; `instant` ones are over at once. */
  readonly kind: 'lasting' | 'instant';
  /** A worker under it does nothing: no step may address it until the fault has ended. */
  readonly silences: boolean;
  /** What undoes it, for plans. */
  readonly undo: string;
  /** Acts on the servers, of which the primary must have so many replicas; each arm has its own. */
  readonly needsReplicas?: number;
  /** What the worker must honour for it, as its `ready` says; undefined: any worker can be hit. */
  readonly honour?: string;
  /** Why it cannot be had there, asked before the run; undefined: it can. Default: everywhere. */
  unavailable?(place: FaultPlace): string | undefined;
  /** Acts, and returns with evidence. @throws {FaultNotApplied} when it could not act at all */
  begin(context: FaultContext): Promise<ActiveFault>;
}
