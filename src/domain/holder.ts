/** Who holds a lock, and who waits for it, as the lock service says. */
import type { Known } from './known.ts';
import type { Lease } from './lease.ts';
import type { Text } from './text.ts';

/** Random value that proves the releaser is the acquirer. It has no order. */
export type OwnerToken = Text;

/** What the owner value (or node data, or a session) tells about where the owner runs. */
export interface OwnerPlace {
  readonly host?: Text;
  readonly pid?: number;
  readonly thread?: Text;
  /** Where this was read: `value`, `CLIENT LIST`, `AdminServer connections` … */
  readonly source: string;
}

export interface Holder {
  readonly owner: OwnerToken;
  /** `unknown` when the value names no host (a random token). */
  readonly place: Known<OwnerPlace>;
  /** Reentrant holds; 1 when the layout has no count. */
  readonly holds: number;
  /** Per-holder lease where it differs from the record's (read/write locks, semaphores). */
  readonly lease?: Lease;
  readonly mode?: 'read' | 'write';
  /** The record this holder is (etcd key, ZooKeeper node), where holders have their own. */
  readonly record?: Text;
}

export interface Waiter {
  /** 1 is next. */
  readonly position: number;
  /** Undefined when only the place in the queue is known. */
  readonly owner: OwnerToken | undefined;
  readonly record?: Text;
  readonly lease?: Lease;
  readonly place?: Known<OwnerPlace>;
  /** What this waiter watches: its predecessor's record, nothing (stranded), or unknown. */
  readonly watches?: Known<Text | 'nothing'>;
  readonly mode?: 'read' | 'write';
  readonly note?: string;
}

/** Waiters in order, a bare count, or a layout that keeps no record of them. */
export type Waiters =
  | { readonly kind: 'exact'; readonly list: readonly Waiter[] }
  | { readonly kind: 'count'; readonly count: number; readonly source: string }
  | { readonly kind: 'unknown'; readonly reason: string; readonly remedy?: string };
