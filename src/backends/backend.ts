/**
 * The inspection adapter: reads any library's locks on one target, and deletes exactly one grant.
 * One contract suite (test/contract/backend.contract.ts) runs against every implementation.
 */
import type { OwnConventions } from '../conventions/convention-set.ts';
import type { BackendKind } from '../domain/target.ts';
import type { FenceRecord } from '../domain/fence.ts';
import type { Known } from '../domain/known.ts';
import type { RenewalSample } from '../domain/lease.ts';
import type { ConventionId, LockDetail, LockRef, LockSnapshot } from '../domain/lock.ts';
import type { Probe } from '../domain/probe.ts';
import type {
  PreviewOptions,
  ReleaseOptions,
  ReleasePreview,
  ReleaseResult,
} from '../domain/release.ts';
import type { ServerFacts } from '../domain/server-facts.ts';
import type { Text } from '../domain/text.ts';

/** What to list. */
export interface LockQuery {
  /** Glob over names (`*`, `?`, `[…]`), or undefined for everything that counts as a lock. */
  readonly pattern: Text | undefined;
  /** Names that make a plain string a lock. Default `*lock*`, `*mutex*`, `*lease*`, `*leader*`. */
  readonly lockPatterns: readonly string[];
  /** List every record, also those that nothing claims as a lock. */
  readonly all: boolean;
  /** Only these conventions; undefined for all. */
  readonly conventions: readonly ConventionId[] | undefined;
  /** Upper bound of keys or nodes read per second; undefined for no limit. */
  readonly ratePerSecond: number | undefined;
  /** Nobody looks at the leases: where they cost requests of their own they may be left unknown. */
  readonly withoutLeases?: boolean;
}

/** Counters of one listing, updated while it streams. */
export interface ListTally {
  /** Keys or nodes read. */
  read: number;
  /** Read, but neither lock nor helper. */
  others: number;
  /** Exist, but this account may not read them. */
  hidden: number;
  /** Sentences about parts that could not be listed, or not as of one moment. */
  readonly holes: string[];
}

export interface Listing {
  readonly locks: AsyncIterable<LockSnapshot>;
  /** Live counters; final when `locks` has ended. */
  readonly tally: ListTally;
}

/** Past grants, and from when on they are all there. */
export interface LockHistory {
  /** Oldest first. */
  readonly records: AsyncIterable<FenceRecord>;
  /** E.g. `since revision 9`. Final when `records` has ended (compaction can move it). */
  completeness(): Known<string>;
}

/** Holds connections. Every method honours its signal and has its own deadline besides. */
export interface Backend {
  /** For display only: nothing outside registry.ts decides by it. */
  readonly kind: BackendKind;
  /** Target as it may be printed. */
  readonly display: string;
  /** @throws {TargetError} unreachable (within two seconds) @throws {PermissionError} refused */
  probe(signal: AbortSignal): Promise<Probe>;
  /** Streams with flat memory, pages on the server, never blocks it. One bad record stops nothing. */
  list(query: LockQuery, signal: AbortSignal): Listing;
  /**
   * One lock in full, or undefined when there is no such record (gone is not "no expiry").
   * With `ref.convention` the layout is forced.
   * @throws {UsageError} `wrong-type` when the forced layout cannot be this record
   */
  inspect(ref: LockRef, signal: AbortSignal): Promise<LockDetail | undefined>;
  history(ref: LockRef, signal: AbortSignal): LockHistory;
  /**
   * Watches one grant. `forMs` 'auto' is two thirds of the lease, at most 20 s.
   * Samples across a role, term or epoch change are discarded, and the outcome says so.
   */
  sample(
    seen: LockSnapshot,
    forMs: number | 'auto',
    signal: AbortSignal,
    onProgress?: (elapsedMs: number, totalMs: number) => void,
  ): Promise<RenewalSample>;
  /** What `release` would do. No I/O. */
  preview(seen: LockSnapshot, how: PreviewOptions): ReleasePreview;
  /**
   * Deletes (or with `hold` replaces) exactly the grant in `seen.identity`, in one atomic step of
   * the server, raises the fence where there is one and wakes the waiters as the library would.
   * Never re-sent: after a lost reply the outcome comes from a read, or is `unknown`.
   */
  release(seen: LockSnapshot, how: ReleaseOptions, signal: AbortSignal): Promise<ReleaseResult>;
  /**
   * What an audit judges of the servers, read in one round of cheap commands; a refused one leaves its
   * fact unknown. Of the `locks`, a bounded sample, only what their snapshots do not tell is read.
   * Absent where the audit has no checks for this kind of target.
   */
  auditFacts?(locks: readonly LockSnapshot[], signal: AbortSignal): Promise<ServerFacts>;
  /** Idempotent. */
  close(): Promise<void>;
}

export interface BackendOptions {
  /** Deadline of connecting and of every single request. Default 2,000 for connecting, 5,000 for requests. */
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** Identifies us to the server (CLIENT SETNAME). */
  readonly clientName: string;
  /** Conventions of the team, asked before the built-in ones. */
  readonly conventions?: OwnConventions;
  /** Globs over ids: records are read in these conventions only. Undefined: in all. */
  readonly onlyConventions?: readonly string[];
}
