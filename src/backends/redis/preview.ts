/** What a release would do, from the snapshot alone: nothing is read or written for it. */
import { known, unknown, valueOf, type Known } from '../../domain/known.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import type { Waiter } from '../../domain/holder.ts';
import type { FloorPreview, PreviewOptions, ReleasePreview } from '../../domain/release.ts';
import { parseText } from '../../domain/text.ts';
import type { RedisGrant, RedisRecord, RedisRelease } from '../../conventions/convention.ts';
import { grantOf } from './grant.ts';
import { slotOf } from './hash-slot.ts';
import { readIdentity, type StoredRecord } from './identity.ts';
import type { RedisConventions } from './recognise.ts';
import { writtenKeys } from './written-keys.ts';

/** The layout's own plan for a record. */
export interface ReleasePlan {
  readonly stored: StoredRecord;
  readonly grant: RedisGrant | undefined;
  readonly release: RedisRelease;
  /** Highest fencing token that the record and its counter show. */
  readonly floor: bigint | undefined;
}

/** The plan for a record, by its convention. */
export function planFor(stored: StoredRecord, record: RedisRecord): ReleasePlan {
  const { convention } = stored;
  const decoded = convention.decode(record);
  const release = convention.release(record, decoded, stored.holder);
  return {
    stored: { ...stored, record },
    grant: grantOf(record, convention, stored.holder),
    release,
    floor:
      release.fenceKey === undefined
        ? undefined
        : highestToken(record, release.fenceKey, decoded.fence),
  };
}

function highestToken(record: RedisRecord, fenceKey: string, fence: LockSnapshot['fence']): bigint {
  const counter = [...record.siblings.values()].find((one) => one.key === fenceKey)?.value ?? '0';
  const seen = /^\d{1,19}$/.test(counter) ? BigInt(counter) : 0n;
  return fence.kind === 'token' && fence.token > seen ? fence.token : seen;
}

interface Refusal {
  readonly reason: string;
  readonly remedy?: string;
}

/** Why a release is out of the question, or undefined. */
export function impossible(
  conventions: RedisConventions,
  seen: LockSnapshot,
  how: PreviewOptions,
): Refusal | undefined {
  if (seen.identity === undefined) return nothingToRelease(seen);
  const { role, replicaOf } = seen.server;
  if (role.kind === 'known' && role.value === 'replica') {
    const primary = replicaOf?.primary ?? 'its primary';
    return {
      reason: `this is a replica of ${primary}: what it shows may be out of date, and it refuses writes`,
      remedy: `plan and release there: redis://${primary}`,
    };
  }
  const stored = readIdentity(seen.identity.record, conventions);
  const plan = planFor(stored, stored.record);
  const { release } = plan;
  if (release.forbidden !== undefined) return { reason: release.forbidden };
  const apart = seen.server.slot === undefined ? undefined : slotsApart(plan);
  if (apart !== undefined) return apart;
  if (how.hold !== undefined && release.hold.as === 'nothing')
    return { reason: release.hold.reason };
  if (how.endSession === true) {
    return { reason: 'a Redis lock hangs on no session: there is nothing else to end' };
  }
  return undefined;
}

/** On a Cluster the script writes keys of one slot only. */
function slotsApart({ grant, stored, release }: ReleasePlan): Refusal | undefined {
  const { key } = grant ?? stored.record;
  const apart = writtenKeys(key, release).filter((other) => slotOf(other) !== slotOf(key));
  return apart.length === 0
    ? undefined
    : {
        reason: `${apart.join(', ')} must change in the same step as the lock and lies in another hash slot`,
        remedy: 'give lock, fence and queue one hash tag, as in {name}:fence',
      };
}

function nothingToRelease(seen: LockSnapshot): Refusal {
  if (seen.state === 'free' || seen.state === 'orphan-waiters') {
    return { reason: 'nobody holds it: there is no record to release' };
  }
  const holders = valueOf(seen.holders) ?? [];
  if (holders.length > 1) {
    return {
      reason: `${holders.length} holders share it, and a release takes one of them`,
      remedy: `name it: --holder ${holders.map(({ owner }) => owner).join(' or ')}`,
    };
  }
  return seen.recognition.convention === 'none'
    ? {
        reason: 'no lock layout recognised',
        remedy: 'name its layout with --convention if it is a lock',
      }
    : { reason: 'the record is too big to be compared: it is no owner token' };
}

export function previewRelease(
  conventions: RedisConventions,
  seen: LockSnapshot,
  how: PreviewOptions,
): ReleasePreview {
  const no = impossible(conventions, seen, how);
  const possible = no === undefined ? { can: true as const } : { can: false as const, ...no };
  if (seen.identity === undefined) {
    return { ...nothing, next: known('nobody'), possible };
  }
  const stored = readIdentity(seen.identity.record, conventions);
  const plan = planFor(stored, stored.record);
  const { release, floor } = plan;
  return {
    deletes: deletesOf(plan),
    wakes: how.hold === undefined ? wakesOf(plan, seen) : [],
    next: how.hold === undefined ? nextHolder(seen) : known('nobody'),
    raisesFence:
      release.fenceKey === undefined || floor === undefined
        ? undefined
        : { from: floor, to: floor + 1n, record: release.fenceKey },
    ...(how.fenceFloor === undefined ? {} : { fenceFloor: noFloor(release) }),
    atomicity: nothing.atomicity,
    alsoFalls: known([]),
    warnings: [...release.warnings, ...rivalWarnings(conventions, seen, stored.record)],
    possible,
  };
}

/** Where a layout has a fence, the release raises that itself; where it has none, there is no last token. */
export function noFloor({ fenceKey }: RedisRelease): FloorPreview & { readonly can: false } {
  return {
    can: false,
    reason:
      fenceKey === undefined
        ? 'this layout gives out no tokens: there is nothing to write a floor above'
        : `the release raises this layout's own counter, ${fenceKey}, in the same step already`,
    remedy: 'leave --fence-floor out',
  };
}

/** Where another library may have written it, its waiters would not be told. */
function rivalWarnings(
  conventions: RedisConventions,
  { recognition }: LockSnapshot,
  record: RedisRecord,
): readonly string[] {
  return recognition.candidates.flatMap((id) => {
    const rival = conventions.byId(id);
    const { publish, push } = rival.release(record, rival.decode(record));
    return publish.length + push.length === 0
      ? []
      : [
          `if it is a ${rival.title} instead, its waiters are not woken: --convention ${id} wakes them`,
        ];
  });
}

const nothing = {
  deletes: [],
  wakes: [],
  raisesFence: undefined,
  atomicity: 'one script: compared, fenced, deleted and announced in one step of the server',
  alsoFalls: known([]),
  warnings: [],
};

/** The key, or one holder's part of it, and then what belongs to it. */
function deletesOf({ grant, stored, release }: ReleasePlan): ReleasePreview['deletes'] {
  if (grant === undefined) return [];
  const { key, part } = grant;
  const whose = stored.holder ?? part?.remove.join(' ');
  return [
    {
      record: part === undefined ? key : parseText(`${whose ?? ''} in ${key}`),
      condition: conditionOf(grant),
    },
    ...release.alsoDelete.map((record) => ({ record, condition: 'together with the lock' })),
    ...(release.tidy ?? [])
      .filter(({ command }) => command === 'DELIF')
      .map(({ key: record, argument }) => ({
        record,
        condition: `its value is still ${argument}`,
      })),
  ];
}

function conditionOf({ type, want, exact, part }: RedisGrant): string {
  if (type === 'string') return `its value is still ${want.join('')}`;
  if (type !== 'hash') return 'it is still a member';
  const pairs = want.flatMap((name, at) => (at % 2 === 0 ? [`${name}=${want[at + 1] ?? ''}`] : []));
  const which = part === undefined ? 'its fields are still' : 'these fields are still there:';
  return parseText(`${which} ${exact ? 'exactly ' : ''}${pairs.join(' ')}`);
}

/** Everything that is sent besides the deletion, in order. */
function wakesOf({ release }: ReleasePlan, seen: LockSnapshot): readonly string[] {
  const { tidy = [], publish, push, queue } = release;
  const sharded = ', and by SPUBLISH';
  return [
    ...tidy
      .filter(({ command }) => command !== 'DELIF')
      .map(({ command, key, argument, when }) =>
        [command, key, argument, ...(when === undefined ? [] : [whenWords[when]])].join(' '),
      ),
    ...publish.map(({ channel, message, ...one }) => {
      const word = typeof message === 'string' ? message : 'the new count';
      const when = one.when === undefined ? '' : ` ${whenWords[one.when]}`;
      return `PUBLISH ${channel} ${word}${one.sharded === true ? sharded : ''}${when}`;
    }),
    ...push.map(({ key, value }) => `LPUSH ${key} ${value}`),
    ...(queue === undefined ? [] : queueWakes(queue, seen)),
  ];
}

const whenWords = { emptied: '(if nobody else holds it)', remaining: '(if others hold it)' };

function queueWakes(
  { channel, message }: NonNullable<RedisRelease['queue']>,
  { waiters }: LockSnapshot,
): readonly string[] {
  const head = waiters.kind === 'exact' ? firstAlive(waiters.list)?.owner : undefined;
  return head === undefined ? [] : [`PUBLISH ${channel}:${head} ${message}, and by SPUBLISH`];
}

function nextHolder({ waiters }: LockSnapshot): Known<Waiter | 'nobody'> {
  if (waiters.kind === 'unknown') return waiters;
  if (waiters.kind === 'count') {
    return unknown(
      waiters.count === 0
        ? 'nobody listens for it; contenders that poll cannot be seen'
        : `${waiters.count} waiting: whoever of them asks first`,
    );
  }
  return known(firstAlive(waiters.list) ?? 'nobody');
}

/** One whose time in the queue has passed is dropped by the next contender. */
function firstAlive(queue: readonly Waiter[]): Waiter | undefined {
  return queue.find((one) => one.lease?.kind !== 'ttl' || one.lease.ttlMs > 0);
}
