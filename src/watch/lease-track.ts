/**
 * One lease over several looks: when it was renewed, how often that is usual, and whether a renewal
 * is overdue. Works on deadlines (time of the look plus time left): a renewal moves the deadline by
 * exactly the time since the renewal before, however seldom we look.
 */

/** One look at a time to live. */
export interface TtlReading {
  readonly startedMs: number;
  readonly endedMs: number;
  /** Left, by the server's count. */
  readonly ttlMs: number;
  /** Granted length, where the server tells. */
  readonly grantedMs: number | undefined;
}

export interface LeaseTrack {
  /** Earliest deadline that any look since the last renewal gives. */
  readonly deadlineMs: number;
  /** Longest time to live seen or granted: the length of the lease as far as known. */
  readonly fullMs: number;
  /** Lowest time to live seen since the last renewal. */
  readonly lowMs: number;
  /** Lowest ever seen before a renewal of this grant; undefined before the first renewal. */
  readonly lowestBeforeRenewalMs: number | undefined;
  /** Times between the last renewals, newest last, at most four. */
  readonly everyMs: readonly number[];
  readonly renewals: number;
  /** Said once, until the next renewal. */
  readonly saidMissed: boolean;
  readonly saidNearEnd: boolean;
}

export type LeaseNews =
  | {
      readonly kind: 'renewed';
      readonly ttlMs: number;
      /** Lowest time to live that was seen before this renewal. */
      readonly lowestTtlMs: number;
      /** Since the renewal before, where one was seen. */
      readonly everyMs: number | undefined;
    }
  | {
      readonly kind: 'renewal-missed';
      readonly ttlMs: number;
      readonly sinceMs: number;
      /** Longest of the usual times between two renewals. */
      readonly everyMs: number;
    }
  | { readonly kind: 'ttl-near-end'; readonly ttlMs: number; readonly fullMs: number };

/** The first look at a lease. A lease that is already near its end is told at once. */
export function firstReading(reading: TtlReading): {
  readonly track: LeaseTrack;
  readonly news: readonly LeaseNews[];
} {
  const track: LeaseTrack = {
    deadlineMs: reading.endedMs + reading.ttlMs,
    fullMs: Math.max(reading.ttlMs, reading.grantedMs ?? 0),
    lowMs: reading.ttlMs,
    lowestBeforeRenewalMs: undefined,
    everyMs: [],
    renewals: 0,
    saidMissed: false,
    saidNearEnd: false,
  };
  return warned(track, reading);
}

/** The next look at the same grant. */
export function nextReading(
  before: LeaseTrack,
  reading: TtlReading,
): { readonly track: LeaseTrack; readonly news: readonly LeaseNews[] } {
  const deadlineMs = reading.endedMs + reading.ttlMs;
  const fullMs = Math.max(before.fullMs, reading.ttlMs, reading.grantedMs ?? 0);
  const movedMs = deadlineMs - before.deadlineMs;
  if (movedMs <= jitterMs(reading)) {
    const lowMs = Math.min(before.lowMs, reading.ttlMs);
    const earliest = Math.min(before.deadlineMs, deadlineMs);
    return warned({ ...before, deadlineMs: earliest, fullMs, lowMs }, reading);
  }
  const lowestTtlMs = before.lowMs;
  // The first renewal seen tells no time between two: the lease may have begun at another length.
  const everyMs = before.renewals === 0 ? undefined : movedMs;
  const track: LeaseTrack = {
    deadlineMs,
    fullMs,
    lowMs: reading.ttlMs,
    lowestBeforeRenewalMs: Math.min(before.lowestBeforeRenewalMs ?? Infinity, lowestTtlMs),
    everyMs: everyMs === undefined ? before.everyMs : [...before.everyMs.slice(-3), everyMs],
    renewals: before.renewals + 1,
    saidMissed: false,
    saidNearEnd: false,
  };
  const after = warned(track, reading);
  return {
    track: after.track,
    news: [{ kind: 'renewed', ttlMs: reading.ttlMs, lowestTtlMs, everyMs }, ...after.news],
  };
}

/** What a look that failed in between leaves: no cadence is derived across a gap. */
export function acrossGap(track: LeaseTrack): LeaseTrack {
  return { ...track, everyMs: [], saidMissed: false };
}

/** A third of a lease is what a holder has left to notice that its renewals fail. */
export const nearEndShare = 1 / 3;

/** Renewals this much later than usual are missed, not merely late. */
const overdueFactor = 1.5;
const cadenceNeeds = 2;

function warned(
  track: LeaseTrack,
  reading: TtlReading,
): { readonly track: LeaseTrack; readonly news: readonly LeaseNews[] } {
  const { ttlMs } = reading;
  const news: LeaseNews[] = [];
  const everyMs = Math.max(...track.everyMs);
  const sinceMs = track.fullMs - ttlMs;
  const missed =
    track.everyMs.length >= cadenceNeeds && sinceMs > everyMs * overdueFactor + jitterMs(reading);
  if (missed && !track.saidMissed) news.push({ kind: 'renewal-missed', ttlMs, sinceMs, everyMs });
  const nearEnd = ttlMs < track.fullMs * nearEndShare;
  if (nearEnd && !track.saidNearEnd) {
    news.push({ kind: 'ttl-near-end', ttlMs, fullMs: track.fullMs });
  }
  return {
    track: {
      ...track,
      saidMissed: track.saidMissed || missed,
      saidNearEnd: track.saidNearEnd || nearEnd,
    },
    news,
  };
}

const wholeSecond = 1000;
const networkMs = 50;

/**
 * How far a deadline may seem to move without a renewal: the look took a while, the network jitters,
 * and some servers (etcd) count whole seconds.
 */
function jitterMs({ startedMs, endedMs, ttlMs }: TtlReading): number {
  const rounding = ttlMs % wholeSecond === 0 ? wholeSecond : 0;
  return endedMs - startedMs + networkMs + rounding;
}
