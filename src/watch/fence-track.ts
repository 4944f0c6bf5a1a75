/**
 * What a sequence of fencing tokens of one lock must not do: fall, come again under another owner,
 * or jump. A gap is no fault: between two looks a lock may be granted several times.
 */
import type { FenceSource, FencingToken } from '../domain/fence.ts';
import { valueOf } from '../domain/known.ts';
import type { LockSnapshot } from '../domain/lock.ts';
import type { Text } from '../domain/text.ts';
import type { LastFence, Observation } from './observation.ts';

export interface FenceNews {
  readonly kind: 'fence-fell' | 'fence-repeated' | 'fence-jumped';
  readonly fence: FencingToken;
  readonly owner: Text | undefined;
  /** The token seen before, and whose it was. */
  readonly oldFence: FencingToken;
  readonly oldOwner: Text | undefined;
}

/** No lock is granted more often than this: a counter that rose faster was set, not counted up. */
const maxGrantsPerS = 1000n;

/** Revisions and zxids also count what happens to other records: they may rise by any amount. */
const counts: Readonly<Record<FenceSource, boolean>> = {
  counter: true,
  attempt: true,
  record: true,
  'create-revision': false,
  czxid: false,
};

/** The token of the present grant, where the layout has one and it is known. */
export function tokenOf(lock: LockSnapshot): FencingToken | undefined {
  return lock.fence.kind === 'token' ? lock.fence.token : undefined;
}

/** What is wrong with the token seen, after the last one. Holders that share a lock have no order. */
export function fenceAnomalies(
  last: LastFence | undefined,
  lock: LockSnapshot,
  look: Observation,
): readonly FenceNews[] {
  if (lock.fence.kind !== 'token' || last === undefined || lock.mode !== 'exclusive') return [];
  const { token, source } = lock.fence;
  const owner = ownerOf(lock);
  const news = { fence: token, owner, oldFence: last.token, oldOwner: last.owner };
  if (token < last.token) return [{ kind: 'fence-fell', ...news }];
  if (token === last.token) {
    const another = owner !== undefined && last.owner !== undefined && owner !== last.owner;
    return another ? [{ kind: 'fence-repeated', ...news }] : [];
  }
  const seconds = BigInt(Math.ceil((look.endedMs - last.seenMs) / 1000) + 1);
  const jumped = counts[source] && token - last.token > seconds * maxGrantsPerS;
  return jumped ? [{ kind: 'fence-jumped', ...news }] : [];
}

/**
 * The token to compare the next look with. One that fell is told once, and the grants after it are
 * judged by it; a free lock keeps its token and whose it was.
 */
export function lastFence(
  before: LastFence | undefined,
  lock: LockSnapshot,
  look: Observation,
): LastFence | undefined {
  const token = tokenOf(lock);
  if (token === undefined) return before;
  const owner = ownerOf(lock) ?? (token === before?.token ? before.owner : undefined);
  return { token, owner, seenMs: look.endedMs };
}

function ownerOf(lock: LockSnapshot): Text | undefined {
  return valueOf(lock.holders)?.[0]?.owner;
}
