/** What a capture says about itself: the locks of one listing, kept in a file to be read elsewhere. */
import type { Known } from './known.ts';
import type { LockSnapshot } from './lock.ts';
import type { Text } from './text.ts';

/** One target of a capture, as it was found when the listing began. */
export interface CapturedTarget {
  readonly display: string;
  /** Kind of backend: `redis`, `etcd` … */
  readonly backend: string;
  readonly version: Known<string>;
  readonly topology: Known<string>;
  readonly clusterId: Known<string>;
}

/** What the listing asked for: another one compares only when it asks for the same. */
export interface CapturedQuery {
  readonly pattern?: Text;
  readonly lockPatterns: readonly string[];
  readonly all: boolean;
  readonly conventions?: readonly string[];
}

/** What stands before the locks. */
export interface CaptureFacts {
  /** RFC 3339, by the clock of the machine that took it. */
  readonly takenAt: string;
  /** Program and version. */
  readonly tool: string;
  readonly query: CapturedQuery;
  readonly targets: readonly CapturedTarget[];
}

/** What the listing of one target went through. */
export interface CaptureTally {
  /** Its place among the targets of the header. */
  readonly target: number;
  readonly read: number;
  readonly others: number;
  readonly hidden: number;
  readonly holes: readonly string[];
}

export interface CaptureEnd {
  readonly locks: number;
  readonly tallies: readonly CaptureTally[];
}

/** A lock, and where it was found. */
export interface CapturedLock {
  readonly target: CapturedTarget;
  readonly lock: LockSnapshot;
}
