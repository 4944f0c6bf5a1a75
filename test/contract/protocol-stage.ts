/** What the parts of the protocol contract share: declared differences, contenders, small readers. */
import type {
  LockClient,
  LockObserver,
  Grant,
  MutationRole,
  ObservedState,
} from '../../src/protocols/protocol.ts';
import type { OwnerToken } from '../../src/domain/holder.ts';
import type { LabHandle } from '../helpers/servers.ts';
import type { ProxyGroup } from './proxy-group.ts';

export interface ProtocolFacts {
  /** Protocol id. */
  readonly id: string;
  readonly lab: LabHandle;
  /** Shortest lease worth testing with, in ms. */
  readonly leaseMs: number;
  /** A second acquire with the same owner token. */
  readonly repeatedAcquire: 'same-grant' | 'busy';
  /** How the observer sees a plain release. */
  readonly releaseIsSeenAs: 'released' | 'removed-early' | 'session-ended';
  /** How the observer sees the end of a hold whose client fell silent. */
  readonly silenceIsSeenAs: 'expired' | 'session-ended';
  /**
   * What a client does about an acquire without an answer. Default `nothing`; `clean-up`: it takes
   * back at once whatever the acquire may have left.
   */
  readonly afterNoAnswer?: 'nothing' | 'clean-up';
  /** Longest time from the last sign of life to the record's end, in ms. */
  readonly endsWithinMs: number;
}

export interface Contender {
  readonly client: LockClient;
  /** To every server of the lock. */
  readonly proxy: ProxyGroup;
}

/** Long enough never to end during a test. */
export const longLeaseMs = 30_000;
export const requestTimeoutMs = 1000;

/** The grant of an acquire that must succeed. */
export async function take(
  { client }: Pick<Contender, 'client'>,
  lock: string,
  owner: OwnerToken,
  leaseMs = longLeaseMs,
  waitMs = 0,
): Promise<Grant> {
  const reply = await client.acquire({ lock, owner, leaseMs, waitMs });
  if (reply.outcome !== 'ok') throw new Error(`acquire: ${JSON.stringify(reply)}`);
  return reply.grant;
}

/** What one test may use. */
export interface Stage {
  readonly contender: (mutation?: MutationRole, timeoutMs?: number) => Promise<Contender>;
  readonly owner: (name: string) => OwnerToken;
  readonly silentUntilGone: (who: Contender, owner: OwnerToken) => Promise<void>;
  readonly observer: () => LockObserver;
  readonly lock: () => string;
}

/** Left on the server in ms: 0 when absent, Infinity without a TTL. */
export function ttlOf(state: ObservedState): number {
  return state.kind === 'held' ? (state.ttlMs ?? Infinity) : 0;
}

export function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
