/**
 * What changed between two looks at the locks of a target: a pure function of what is remembered and
 * what is seen. It claims only what two looks can tell; what happened in between and left no trace
 * (a lock taken and let go) is not in it.
 */
import type { FencingToken } from '../domain/fence.ts';
import type { Holder, Waiter, Waiters } from '../domain/holder.ts';
import { valueOf } from '../domain/known.ts';
import type { ConventionId, LockSnapshot, LockState } from '../domain/lock.ts';
import type { Text } from '../domain/text.ts';
import { fenceAnomalies, tokenOf, lastFence, type FenceNews } from './fence-track.ts';
import { acrossGap, firstReading, nextReading, type LeaseNews } from './lease-track.ts';
import {
  lockKey,
  type LastFence,
  type Memory,
  type Observation,
  type Track,
} from './observation.ts';

/**
 * How a hold ended, as far as the time that was left tells: `before-its-lease` was released or
 * deleted, for it could not have run out; `lease-may-have-ended` could be either.
 */
export type Ended = 'before-its-lease' | 'lease-may-have-ended' | 'unknown';

export type LockNews =
  /** There at the first look, or a lock that had no holder before and has none. */
  | {
      readonly kind: 'seen';
      readonly state: LockState;
      readonly owners: readonly Text[];
      readonly fence: FencingToken | undefined;
    }
  | { readonly kind: 'taken'; readonly owner: Text; readonly fence: FencingToken | undefined }
  /** The same owner, another grant. */
  | {
      readonly kind: 'retaken';
      readonly owner: Text;
      readonly fence: FencingToken | undefined;
      readonly oldFence: FencingToken | undefined;
    }
  | {
      readonly kind: 'handed-over';
      readonly oldOwner: Text;
      readonly oldFence: FencingToken | undefined;
      readonly owner: Text;
      readonly fence: FencingToken | undefined;
      readonly ended: Ended;
    }
  | {
      readonly kind: 'freed';
      readonly oldOwner: Text;
      readonly oldFence: FencingToken | undefined;
      readonly ended: Ended;
    }
  | { readonly kind: 'no-ttl'; readonly owners: readonly Text[] }
  /** Any other change of state, e.g. to orphan waiters or a split majority. */
  | { readonly kind: 'state'; readonly oldState: LockState; readonly state: LockState }
  | {
      readonly kind: 'queue-grew' | 'queue-shrank';
      readonly from: number;
      readonly to: number;
      /** Who came, and who left without becoming the holder; empty where only a count is known. */
      readonly appeared: readonly Text[];
      readonly vanished: readonly Text[];
    }
  | LeaseNews
  | FenceNews;

interface ChangeBase {
  readonly target: string;
  /** End of the look that saw it: this machine's monotonic clock, and its wall clock. */
  readonly atMs: number;
  readonly at: string;
}

export type LockChange = ChangeBase & {
  readonly lock: Text;
  readonly convention: ConventionId;
  /** The look before failed: this is the sum of what happened while nobody looked. */
  readonly afterGap: boolean;
} & LockNews;

/** From `sinceMs` to `atMs` nobody looked. */
export type GapChange = ChangeBase & {
  readonly kind: 'gap';
  readonly lostMs: number;
  readonly reason: string;
};

export type Change = LockChange | GapChange;

export type ChangeKind = Change['kind'];

/** Locks that are gone and whose last token is still remembered. */
const rememberedGone = 10_000;

/** The changes that a look shows, in the order of its locks, and what to remember for the next. */
export function compareLooks(
  memory: Memory,
  look: Observation,
): { readonly changes: readonly Change[]; readonly memory: Memory } {
  const changes: Change[] = [...gapOf(look)];
  const tracks = new Map<string, Track>();
  const tell = (lock: LockSnapshot, news: readonly LockNews[]): void => {
    for (const one of news) changes.push({ ...envelope(look), ...about(lock, look), ...one });
  };
  for (const lock of look.locks) {
    const key = lockKey(lock);
    const before = memory.tracks.get(key);
    const { track, news } =
      before === undefined
        ? firstSight(lock, look, memory.gone.get(key), memory.begun)
        : nextSight(before, lock, look);
    tracks.set(key, track);
    tell(lock, news);
  }
  const gone = new Map(memory.gone);
  for (const key of tracks.keys()) gone.delete(key);
  for (const [key, track] of memory.tracks) {
    if (tracks.has(key)) continue;
    if (look.complete) {
      tell(track.snapshot, goneNews(track, look));
      if (track.fence !== undefined) gone.set(key, track.fence);
    } else tracks.set(key, track);
  }
  for (const key of gone.keys()) {
    if (gone.size <= rememberedGone) break;
    gone.delete(key);
  }
  return { changes, memory: { begun: true, tracks, gone } };
}

function envelope(look: Observation): ChangeBase {
  return { target: look.target, atMs: look.endedMs, at: look.at };
}

function about(
  lock: LockSnapshot,
  look: Observation,
): Pick<LockChange, 'lock' | 'convention' | 'afterGap'> {
  return {
    lock: lock.ref.name,
    convention: lock.recognition.convention,
    afterGap: look.gap !== undefined,
  };
}

function gapOf(look: Observation): readonly GapChange[] {
  if (look.gap === undefined) return [];
  const lostMs = look.startedMs - look.gap.sinceMs;
  return [{ ...envelope(look), kind: 'gap', lostMs, reason: look.gap.reason }];
}

interface Sight {
  readonly track: Track;
  readonly news: readonly LockNews[];
}

function firstSight(
  lock: LockSnapshot,
  look: Observation,
  last: LastFence | undefined,
  begun: boolean,
): Sight {
  const owners = holdersOf(lock).map((holder) => holder.owner);
  const fence = tokenOf(lock);
  const grant: readonly LockNews[] =
    begun && owners.length > 0
      ? owners.map((owner) => ({ kind: 'taken', owner, fence }))
      : [{ kind: 'seen', state: lock.state, owners, fence }];
  const lease = leaseOf(lock, look, undefined);
  const track: Track = {
    snapshot: lock,
    startedMs: look.startedMs,
    endedMs: look.endedMs,
    heldSinceMs: look.endedMs,
    sawGrant: begun,
    lease: lease.track,
    fence: lastFence(last, lock, look),
    handOvers: 0,
  };
  const news = [
    ...grant,
    ...fenceAnomalies(last, lock, look),
    ...(lock.state === 'no-ttl' ? [{ kind: 'no-ttl', owners } as const] : []),
    ...lease.news,
  ];
  return { track, news };
}

function nextSight(before: Track, lock: LockSnapshot, look: Observation): Sight {
  const grants = grantNews(before, lock, look);
  const another = grants.some(({ kind }) => kind !== 'freed');
  const sameHold = grants.length === 0;
  const past = look.gap === undefined ? before.lease : before.lease && acrossGap(before.lease);
  const lease = leaseOf(lock, look, sameHold ? past : undefined);
  const track: Track = {
    snapshot: lock,
    startedMs: look.startedMs,
    endedMs: look.endedMs,
    heldSinceMs: another ? look.endedMs : before.heldSinceMs,
    sawGrant: before.sawGrant || another,
    lease: lease.track,
    fence: lastFence(before.fence, lock, look),
    handOvers: before.handOvers + grants.filter(({ kind }) => kind === 'handed-over').length,
  };
  const news = [
    ...grants,
    ...fenceAnomalies(before.fence, lock, look),
    ...stateNews(before.snapshot, lock),
    ...queueNews(before.snapshot, lock),
    ...lease.news,
  ];
  return { track, news };
}

/** The record is gone: whoever held it no longer does. */
function goneNews(track: Track, look: Observation): readonly LockNews[] {
  const ended = endOf(track, look);
  return holdersOf(track.snapshot).map((holder) => ({
    kind: 'freed',
    oldOwner: holder.owner,
    oldFence: tokenOf(track.snapshot),
    ended,
  }));
}

function grantNews(before: Track, lock: LockSnapshot, look: Observation): readonly LockNews[] {
  const [was, is] = [before.snapshot.holders, lock.holders];
  if (was.kind === 'unknown' || is.kind === 'unknown') return [];
  const [from, to] = [was.value[0], is.value[0]];
  if (isOnly(was.value, lock) && isOnly(is.value, lock) && from !== undefined && to !== undefined) {
    return successor(before, lock, look, from, to);
  }
  const [had, has] = [new Set(was.value.map(holderKey)), new Set(is.value.map(holderKey))];
  // Of holders that are known in part only, one that is missing may still be there.
  const left = is.kind === 'known' ? was.value.filter((one) => !has.has(holderKey(one))) : [];
  const came = was.kind === 'known' ? is.value.filter((one) => !had.has(holderKey(one))) : [];
  const oldFence = tokenOf(before.snapshot);
  const ended = endOf(before, look);
  return [
    ...left.map((one) => ({ kind: 'freed', oldOwner: one.owner, oldFence, ended }) as const),
    ...came.map((one) => ({ kind: 'taken', owner: one.owner, fence: tokenOf(lock) }) as const),
  ];
}

function successor(
  before: Track,
  lock: LockSnapshot,
  look: Observation,
  from: Holder,
  to: Holder,
): readonly LockNews[] {
  const { owner } = to;
  const [oldFence, fence] = [tokenOf(before.snapshot), tokenOf(lock)];
  if (from.owner !== owner) {
    const ended = endOf(before, look);
    return [{ kind: 'handed-over', oldOwner: from.owner, oldFence, owner, fence, ended }];
  }
  const tokens = oldFence !== undefined && fence !== undefined;
  const another = tokens ? oldFence !== fence : from.record !== to.record;
  return another ? [{ kind: 'retaken', owner, fence, oldFence }] : [];
}

/** One grant follows another only where the lock is for one holder at a time. */
function isOnly(holders: readonly Holder[], lock: LockSnapshot): boolean {
  return holders.length === 1 && lock.mode === 'exclusive';
}

function holderKey(holder: Holder): string {
  return `${holder.owner}\n${holder.record ?? ''}`;
}

function holdersOf(lock: LockSnapshot): readonly Holder[] {
  return valueOf(lock.holders) ?? [];
}

/** Longest time that a server may be ahead of what it told, besides the time between two looks. */
const slackMs = 1000;

function endOf(before: Track, look: Observation): Ended {
  const { lease } = before.snapshot;
  if (lease.kind === 'never') return 'before-its-lease';
  if (lease.kind !== 'ttl') return 'unknown';
  const passedMs = look.endedMs - before.startedMs;
  return lease.ttlMs > passedMs + slackMs ? 'before-its-lease' : 'lease-may-have-ended';
}

function leaseOf(
  lock: LockSnapshot,
  look: Observation,
  before: Track['lease'],
): { readonly track: Track['lease']; readonly news: readonly LeaseNews[] } {
  if (lock.lease.kind !== 'ttl' || holdersOf(lock).length === 0) {
    return { track: undefined, news: [] };
  }
  const { ttlMs } = lock.lease;
  const grantedMs = valueOf(lock.lease.grantedMs);
  const reading = { startedMs: look.startedMs, endedMs: look.endedMs, ttlMs, grantedMs };
  return before === undefined ? firstReading(reading) : nextReading(before, reading);
}

function stateNews(before: LockSnapshot, lock: LockSnapshot): readonly LockNews[] {
  if (before.state === lock.state) return [];
  if (lock.state === 'no-ttl') {
    return [{ kind: 'no-ttl', owners: holdersOf(lock).map((holder) => holder.owner) }];
  }
  // The changes of its holders tell these.
  if (lock.state === 'free' || (before.state === 'free' && lock.state === 'held')) return [];
  return [{ kind: 'state', oldState: before.state, state: lock.state }];
}

function queueNews(before: LockSnapshot, lock: LockSnapshot): readonly LockNews[] {
  const [from, to] = [waiterCount(before.waiters), waiterCount(lock.waiters)];
  if (from === undefined || to === undefined || from === to) return [];
  const [old, now] = [waiterNames(before.waiters), waiterNames(lock.waiters)];
  const holders = new Set(
    holdersOf(lock).flatMap(({ owner, record }) =>
      record === undefined ? [owner] : [owner, record],
    ),
  );
  const appeared = [...now].filter((one) => !old.has(one));
  const vanished = [...old].filter((one) => !now.has(one) && !holders.has(one));
  return [{ kind: to > from ? 'queue-grew' : 'queue-shrank', from, to, appeared, vanished }];
}

/** Waiters of a lock, or undefined when the layout does not tell. */
export function waiterCount(waiters: Waiters): number | undefined {
  if (waiters.kind === 'unknown') return undefined;
  return waiters.kind === 'exact' ? waiters.list.length : waiters.count;
}

function waiterNames(waiters: Waiters): ReadonlySet<Text> {
  if (waiters.kind !== 'exact') return new Set();
  return new Set(waiters.list.map(waiterName).filter((name) => name !== undefined));
}

/** The record is the waiter's own; an owner may wait more than once. */
function waiterName(waiter: Waiter): Text | undefined {
  return waiter.record ?? waiter.owner;
}
