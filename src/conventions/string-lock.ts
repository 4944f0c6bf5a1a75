/**
 * The string compare-and-delete family: one string, `SET key token NX PX ttl`, released by a script
 * that deletes it if the token is still there. Its libraries differ in the shape of the token, in
 * what the key is called, and in what their own renewal does; each says only that.
 */
import type { OwnerPlace, Waiters } from '../domain/holder.ts';
import { known, unknown, valueOf, type Known } from '../domain/known.ts';
import type { Confidence, ConventionId, LockNote } from '../domain/lock.ts';
import type { Text } from '../domain/text.ts';
import type { Decoded, RedisConvention, RedisHold, RedisRecord } from './convention.ts';
import { placeInValue, weakness } from './owner-shape.ts';

export interface StringLayout {
  readonly id: ConventionId;
  readonly title: string;
  matches(value: Text, key: Text): Confidence | undefined;
  /** What names the owner in the value, where that is not all of it; undefined: nothing does. */
  owner?(value: Text): Text | undefined;
  place?(value: Text): Known<OwnerPlace>;
  /** When it was granted by the owner's clock, in epoch ms, where the value tells; else undefined. */
  grantedAtMs?(value: Text): number | undefined;
  /** Why the next holder may write the same value although it looks random. */
  readonly shared?: string;
  /** Why waiters cannot be seen, or that nobody ever waits for such a lock. */
  readonly waiters?: { readonly hidden: string } | 'nobody';
  /** What a plan says before the release. */
  readonly warnings?: readonly string[];
  /** Default: the operator's token as the value. */
  readonly hold?: RedisHold;
}

/** Renewal that does not look whether the key is still there. */
export const recreates =
  'its renewal sets a deleted key again: the lock may come back while the owner lives';
/** Clients of a quorum have the same key on other servers. */
export const oneOfSeveral =
  'the same lock may be on other servers too (a quorum): release it on most of them';

/** A convention of this family. Waiters poll unless the layout says otherwise. */
export function stringLock(layout: StringLayout): RedisConvention {
  return {
    id: layout.id,
    title: layout.title,
    system: 'redis',
    types: ['string'],
    matches: ({ value, key }) => (value === undefined ? undefined : layout.matches(value, key)),
    siblings: () => [],
    helperOf: () => undefined,
    decode: (record) => decodeString(layout, record),
    release: () => ({
      alsoDelete: [],
      fenceKey: undefined,
      publish: [],
      push: [],
      warnings: layout.warnings ?? [],
      hold: layout.hold ?? { as: 'string' },
    }),
  };
}

function decodeString(layout: StringLayout, record: RedisRecord): Decoded {
  const why = weaknessOf(layout, record);
  return {
    state: record.type === 'none' ? 'free' : record.ttlMs === undefined ? 'no-ttl' : 'held',
    mode: 'exclusive',
    holders: holdersOf(layout, record),
    waiters: waitersOf(layout),
    fence: { kind: 'none' },
    heldForMs: heldFor(layout, record),
    helpers: [],
    notes: why === undefined ? [] : [weakNote(why)],
    weakOwner: why !== undefined,
  };
}

function waitersOf({ waiters }: StringLayout): Waiters {
  if (waiters === 'nobody') return { kind: 'exact', list: [] };
  return { kind: 'unknown', reason: waiters?.hidden ?? 'this layout keeps no record of waiters' };
}

/** By the owner's clock against the server's: a time ahead of the server's says nothing. */
function heldFor(layout: StringLayout, { value, serverTimeMs }: RedisRecord): Known<number> {
  const since = value === undefined ? undefined : layout.grantedAtMs?.(value);
  if (since === undefined || Number.isNaN(since)) return heldForUnknown;
  const now = valueOf(serverTimeMs);
  if (now === undefined) return unknown('the server’s clock was not read');
  return now >= since
    ? known(now - since)
    : unknown('the time in the value is ahead of the server’s clock');
}

/** For layouts whose record carries no time of the grant. */
export const heldForUnknown = unknown(
  'the record does not say since when',
  'write the time of the grant into the owner value',
);

function weaknessOf(layout: StringLayout, { value }: RedisRecord): string | undefined {
  return value === undefined ? undefined : (layout.shared ?? weakness(value));
}

/** The owner value `why` (a verb and its object): a guard that relies on it is weak. */
export function weakNote(why: string): LockNote {
  return {
    code: 'weak-owner',
    severity: 'warn',
    text: `the owner value ${why}: a release guarded by it cannot tell one holder from the next`,
  };
}

function holdersOf(layout: StringLayout, record: RedisRecord): Decoded['holders'] {
  const { value, tooBig } = record;
  if (record.type === 'none') return known([]);
  if (value === undefined) {
    return unknown(`the value is ${tooBig ?? 'too many'} bytes long: no owner token`);
  }
  const owner = layout.owner === undefined ? value : layout.owner(value);
  if (owner === undefined) return unknown('the value names no owner');
  const place = layout.place === undefined ? placeInValue(value) : layout.place(value);
  return known([{ owner, place, holds: 1 }]);
}
