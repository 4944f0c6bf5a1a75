/** Fencing tokens: numbers that only grow, one per grant, checked by the resource. */
import type { Known } from './known.ts';
import type { OwnerToken } from './holder.ts';
import type { Text } from './text.ts';

/** Always a bigint: etcd revisions and zxids pass 2^53. */
export type FencingToken = bigint;

/** Where a token comes from. */
export type FenceSource = 'counter' | 'create-revision' | 'czxid' | 'attempt' | 'record';

export type Fence =
  | { readonly kind: 'token'; readonly token: FencingToken; readonly source: FenceSource }
  /** This layout has none: a paused owner can still write. */
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown'; readonly reason: string; readonly remedy?: string };

/** One past or present grant of a lock. */
export interface FenceRecord {
  readonly fence: Fence;
  readonly owner: Known<OwnerToken>;
  readonly record?: Text;
  /** ISO time by the server's clock, where the server keeps one. */
  readonly grantedAt: Known<string>;
  readonly ended:
    | { readonly how: 'holding' }
    | { readonly how: 'waiting' }
    | {
        readonly how:
          | 'released'
          | 'replaced'
          | 'deleted'
          | 'expired'
          | 'lease-ended-or-deleted'
          | 'force-released';
        readonly at?: string;
        readonly revision?: bigint;
      }
    | { readonly how: 'unknown'; readonly reason: string };
  /** `etcd revisions`, `acquire stream`, `present contenders`, `recording` … */
  readonly source: string;
}

/** Orders tokens numerically; negative when `a` is older. */
export function compareFences(a: FencingToken, b: FencingToken): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
