/** The resource's rule: whose token may write, given the last one that did. Pure. */
import type { FencingToken } from '../domain/fence.ts';
import type { AcceptRule } from '../domain/scenario.ts';
import type { Refusal } from './resource.ts';

/** Who wrote last, or asks to: owner and token. */
export interface Claim {
  readonly owner: string | undefined;
  readonly fence: FencingToken | undefined;
}

/** SQL keeps tokens in a signed 64-bit integer. */
const largestToken = 2n ** 63n - 1n;

/**
 * Decides by number, never by text. `any` is the control without protection: it admits everything
 * that can be stored.
 */
export function admit(
  rule: AcceptRule,
  last: Claim,
  asks: Claim,
):
  | 'admitted'
  | Extract<
      Refusal,
      'stale-token' | 'token-used' | 'fence-fault' | 'no-token' | 'token-out-of-range'
    > {
  const { fence } = asks;
  if (fence !== undefined && fence > largestToken) return 'token-out-of-range';
  if (rule === 'any') return 'admitted';
  if (fence === undefined) return 'no-token';
  if (last.fence === undefined || fence > last.fence) return 'admitted';
  if (fence < last.fence) return 'stale-token';
  // Two grants with one number: the fence itself is broken, and neither may pass for the other.
  if (last.owner !== asks.owner) return 'fence-fault';
  return rule === 'greater' ? 'token-used' : 'admitted';
}
