/**
 * The fenced register, exactly: accepted writes have a forced order (by rank: token, attempt or
 * grant), and this finds a pair that surely took effect against it. One sort and one sweep.
 */

export interface Ranked {
  /** Token, attempt or place of the grant: smaller is older. */
  readonly rank: bigint;
  readonly startNs: number;
  /** Infinity when the reply was lost. */
  readonly replyNs: number;
  /** The row it wrote; versions compare only within one. */
  readonly row: string;
  readonly version: bigint | undefined;
}

export interface Inversion<Item> {
  /** The newer one, accepted first. */
  readonly newer: Item;
  /** The older one, accepted after it. */
  readonly older: Item;
}

/** An older write surely accepted after a newer one, by real time or by the resource's versions. */
export function findInversion<Item extends Ranked>(
  items: readonly Item[],
): Inversion<Item> | undefined {
  return byVersion(items) ?? byTime(items);
}

/** In rank order, a newer write that was over before an older one began. */
function byTime<Item extends Ranked>(items: readonly Item[]): Inversion<Item> | undefined {
  const sorted = [...items].sort((a, b) => compare(a.rank, b.rank));
  let latest: Item | undefined; // the latest invocation of all smaller ranks
  let pending: Item | undefined; // the latest invocation of this rank
  let rank: bigint | undefined;
  for (const item of sorted) {
    if (item.rank !== rank) {
      if (pending !== undefined && (latest === undefined || pending.startNs > latest.startNs)) {
        latest = pending;
      }
      pending = undefined;
      rank = item.rank;
    }
    if (latest !== undefined && item.replyNs < latest.startNs)
      return { newer: item, older: latest };
    if (pending === undefined || item.startNs > pending.startNs) pending = item;
  }
  return undefined;
}

function byVersion<Item extends Ranked>(items: readonly Item[]): Inversion<Item> | undefined {
  const versioned = items
    .flatMap((item) => (item.version === undefined ? [] : [{ item, version: item.version }]))
    .sort((a, b) => compare(a.version, b.version));
  const highest = new Map<string, Item>();
  for (const { item } of versioned) {
    const top = highest.get(item.row);
    if (top !== undefined && item.rank < top.rank) return { newer: top, older: item };
    if (top === undefined || item.rank > top.rank) highest.set(item.row, item);
  }
  return undefined;
}

/** For `sort`: bigints cannot be subtracted into a number safely. */
export function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
