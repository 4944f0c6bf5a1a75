/**
 * Holders that are members of a sorted set, each with the time at which its hold ends as its score:
 * how semaphores are kept. A member whose time has passed holds nothing; it lingers until the
 * next acquire removes it.
 */
import type { Holder, OwnerPlace, Waiters } from '../domain/holder.ts';
import { known, unknown, valueOf, type Known } from '../domain/known.ts';
import type { Lease } from '../domain/lease.ts';
import type { LockNote } from '../domain/lock.ts';
import { stringToText, textToBytes, type Text } from '../domain/text.ts';
import type { Decoded, RedisGrant, RedisRecord, RedisSibling } from './convention.ts';

export interface ScoredHolders {
  readonly holders: readonly Holder[];
  /** Members whose time has passed. */
  readonly expired: number;
  /** There are more members than were read. */
  readonly capped: boolean;
}

/** The latest time that a score can mean: Redisson writes it for "never". */
const neverScore = 922_337_203_685_477;

/** Who holds, with each one's own lease by the server's clock. */
export function scoredHolders(
  record: RedisRecord,
  placeOf: (member: Text) => Known<OwnerPlace>,
): ScoredHolders {
  const members = record.members ?? [];
  const now = valueOf(record.serverTimeMs);
  const all = members.map(({ member, score }): Holder => {
    const owner = shownMember(member);
    return {
      owner,
      place: placeOf(member),
      holds: 1,
      lease: leaseUntil(score, now),
      ...(owner === member ? {} : { record: member }),
    };
  });
  const holders = all.filter(({ lease }) => lease?.kind !== 'ttl' || lease.ttlMs > 0);
  return {
    holders,
    expired: all.length - holders.length,
    capped: (record.memberCount ?? members.length) > members.length,
  };
}

/** `Decoded.holders` of them. */
export function knownHolders({ holders, capped }: ScoredHolders): Decoded['holders'] {
  return capped
    ? { kind: 'partial', value: holders, reason: 'there are more members than were read' }
    : known(holders);
}

function leaseUntil(score: number | undefined, now: number | undefined): Lease {
  if (score === undefined || score >= neverScore) return { kind: 'never' };
  if (now === undefined) return { kind: 'unknown', reason: 'the server’s clock was not read' };
  return {
    kind: 'ttl',
    ttlMs: Math.max(0, Math.round(score - now)),
    grantedMs: unknown('not recorded'),
  };
}

/** The lease that ends last; undefined without holders. */
export function longestLease(holders: readonly Holder[]): Lease | undefined {
  const leases = holders.flatMap(({ lease }) => lease ?? []);
  const endless = leases.find((lease) => lease.kind !== 'ttl');
  if (endless !== undefined) return endless;
  let longest: (Lease & { kind: 'ttl' }) | undefined;
  for (const lease of leases) {
    if (lease.kind === 'ttl' && lease.ttlMs >= (longest?.ttlMs ?? 0)) longest = lease;
  }
  return longest;
}

/** The member that `holder` is, to be taken out alone. */
export function memberGrant(
  { key, type, members = [] }: RedisSibling,
  holder: Text | undefined,
): RedisGrant | undefined {
  if (type !== 'zset' && type !== 'set') return undefined;
  const found =
    holder === undefined
      ? members.length === 1
        ? members[0]
        : undefined
      : members.find(({ member }) => shownMember(member) === holder);
  if (found === undefined) return undefined;
  const want = [found.member];
  return { key, type, want, exact: false, part: { remove: want, idle: [] } };
}

/** An id of sixteen raw bytes is shown as hex digits; any other as it is. */
function shownMember(member: Text): Text {
  if (!member.includes('\\')) return member;
  const bytes = textToBytes(member);
  return bytes.length === 16 ? stringToText(Buffer.from(bytes).toString('hex')) : member;
}

/** A note on members whose time has passed, if there are some. */
export function expiredNote(expired: number): readonly LockNote[] {
  if (expired === 0) return [];
  const which = expired === 1 ? 'one hold has' : `${expired} holds have`;
  return [
    {
      code: 'expired-members',
      severity: 'info',
      text: `${which} run out and linger in the record; the next acquire removes them`,
    },
  ];
}

/** How many sleep on a channel of a lock whose record is gone, as far as they were counted. */
export function orphansOn(record: RedisRecord, channel: Text): number {
  if (record.type !== 'none') return 0;
  const subscribers = record.siblings.get(channel)?.subscribers;
  return (subscribers && valueOf(subscribers)) ?? 0;
}

/** Subscribers of a channel as waiters: only their number is known. */
export function subscribedWaiters(record: RedisRecord, channel: Text): Waiters {
  const subscribers = record.siblings.get(channel)?.subscribers;
  if (subscribers === undefined) {
    return { kind: 'unknown', reason: 'the subscribers of its channel were not counted' };
  }
  return subscribers.kind === 'unknown'
    ? subscribers
    : { kind: 'count', count: subscribers.value, source: `subscribers of ${channel}` };
}
