/** The stream of grants and releases that the fenced Redis protocols write: their ordered witness. */
import {
  fencedEntryFields,
  fencedEntryTypes,
  fencedHistoryLength,
  fencedKeys,
} from '../domain/fenced-layout.ts';
import type { OwnerToken } from '../domain/holder.ts';
import { stringToText } from '../domain/text.ts';
import type { ObservedEnd, ObservedGrant } from './protocol.ts';
import { items, type RedisSender, type RedisValue } from './redis-link.ts';
import { read, type LockTrack } from './redis-observer.ts';

/** One entry of the stream. */
export interface HistoryEntry {
  readonly order: bigint;
  readonly type: string;
  readonly owner: OwnerToken;
  readonly fence: bigint | undefined;
}

/** Every entry that the stream still has, oldest first. @throws {TargetError} `observation-failed` */
export async function readHistory(
  link: Pick<RedisSender, 'send'>,
  lock: string,
): Promise<readonly HistoryEntry[]> {
  const key = fencedKeys(lock).history;
  const value = await read(
    link.send('XRANGE', key, '-', '+', 'COUNT', 2 * fencedHistoryLength),
    `history of lock ${lock}`,
  );
  return items(value).flatMap(toEntry);
}

export function grantsIn(entries: readonly HistoryEntry[]): readonly ObservedGrant[] {
  return entries
    .filter((entry) => entry.type === fencedEntryTypes.grant)
    .map(({ owner, fence, order }) => ({ owner, fence, order }));
}

/** How the grant of `owner` ended: by the stream, and where that is silent by the looks at it. */
export function endIn(
  entries: readonly HistoryEntry[],
  owner: OwnerToken,
  track: Pick<LockTrack, 'end'>,
): ObservedEnd {
  const from = entries.findLastIndex(
    (entry) => entry.type === fencedEntryTypes.grant && entry.owner === owner,
  );
  const after = from === -1 ? [] : entries.slice(from + 1);
  const next = after.findIndex((entry) => entry.type === fencedEntryTypes.grant);
  const ending = (next === -1 ? after : after.slice(0, next))[0];
  if (ending === undefined) {
    const { cause, witness } = track.end(owner);
    return { owner, cause, order: undefined, witness: `no release entry; ${witness}` };
  }
  const own = ending.type === fencedEntryTypes.release && ending.owner === owner;
  return {
    owner,
    cause: own ? 'released' : 'removed-early',
    order: ending.order,
    witness: own
      ? 'release entry of this owner in the history stream'
      : `${ending.type} entry of ${ending.owner} in the history stream`,
  };
}

function toEntry(value: RedisValue): readonly HistoryEntry[] {
  const [id, pairs] = items(value);
  if (typeof id !== 'string') return [];
  const list = items(pairs);
  const fields = new Map<RedisValue, RedisValue>();
  for (let at = 0; at < list.length; at += 2) fields.set(list[at], list[at + 1]);
  const get = (name: string): RedisValue => fields.get(stringToText(name));
  const [type, owner] = [get(fencedEntryFields.type), get(fencedEntryFields.owner)];
  if (typeof type !== 'string' || typeof owner !== 'string') return [];
  const fence = toFence(get(fencedEntryFields.fence));
  return [{ order: streamOrder(id), type, owner, fence }];
}

/** A stream id `ms-n` as one growing number below 2^63: no millisecond has a million entries. */
function streamOrder(id: string): bigint {
  const [ms = '0', sequence = '0'] = id.split('-');
  return (BigInt(ms) << 20n) | BigInt(sequence);
}

/** A fence as Redis writes it; undefined for anything else. */
export function toFence(value: RedisValue): bigint | undefined {
  return typeof value === 'string' && /^\d+$/.test(value) ? BigInt(value) : undefined;
}
