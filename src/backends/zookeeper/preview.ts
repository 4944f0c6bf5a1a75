/** What a release would do, from the snapshot alone: nothing is read or written for it. */
import type { Waiter } from '../../domain/holder.ts';
import { known, unknown, valueOf, type Known } from '../../domain/known.ts';
import { unrecognised, type LockSnapshot } from '../../domain/lock.ts';
import type { Ability } from '../../domain/probe.ts';
import type {
  FloorPreview,
  PreviewOptions,
  ReleasedRecord,
  ReleasePreview,
} from '../../domain/release.ts';
import { stringToText, type Text } from '../../domain/text.ts';
import { readIdentity, type NodeIdentity } from './identity.ts';
import type { ZooKeeperConventions } from './recognise.ts';

/** A hold needs one step that takes the record's place; here a new node goes to the end of the queue. */
export const noHold = {
  can: false,
  reason:
    'ZooKeeper cannot hold: an ephemeral node belongs to the session that made it, and no step hands it over',
  remedy: 'leave --hold out; stop the waiters first if none of them may go on',
} as const satisfies Ability;

export const noEndSession = {
  can: false,
  reason: 'the owner’s session cannot be ended from here: closing it needs its password',
  remedy: 'leave --end-session out; stop the owner’s process to end its session',
} as const satisfies Ability;

/** Two nodes cannot be written in one step without a transaction, and the client's cannot be trusted. */
export const noFloor = {
  can: false,
  reason: 'ZooKeeper writes no fence floor: it could not be raised in the step that deletes',
  remedy: 'leave --fence-floor out and tell the resource yourself',
} as const satisfies FloorPreview;

/** Why a release is out of the question, or undefined. */
export function impossible(
  conventions: ZooKeeperConventions,
  seen: LockSnapshot,
  how: PreviewOptions,
): { readonly reason: string; readonly remedy?: string } | undefined {
  if (seen.identity === undefined) return nothingToRelease(seen);
  if (how.hold !== undefined) return noHold;
  if (how.endSession === true) return noEndSession;
  const grant = readIdentity(seen.identity);
  if (grant.role === 'waiter') {
    return {
      reason: 'it waits for the lock and does not hold it',
      remedy: `look at the lock itself: fencepost show ${seen.ref.name}`,
    };
  }
  const { forbidden } = conventions.byId(grant.convention);
  return forbidden === undefined ? undefined : { reason: forbidden };
}

function nothingToRelease(seen: LockSnapshot): { reason: string; remedy?: string } {
  if (seen.recognition.convention === unrecognised) {
    return {
      reason: 'no lock layout recognised',
      remedy: 'name its layout with --convention if it is a lock',
    };
  }
  return { reason: 'nobody holds it: there is no node to release' };
}

export function previewRelease(
  conventions: ZooKeeperConventions,
  seen: LockSnapshot,
  how: PreviewOptions,
): ReleasePreview {
  const no = impossible(conventions, seen, how);
  const possible = no === undefined ? { can: true as const } : { can: false as const, ...no };
  const grant = seen.identity && readIdentity(seen.identity);
  const convention = grant && conventions.byId(grant.convention);
  return {
    deletes: grant === undefined ? [] : [releasedRecord(grant, convention?.freedBy)],
    wakes: [],
    next: nextHolder(seen, grant),
    raisesFence: undefined,
    ...(how.fenceFloor === undefined ? {} : { fenceFloor: noFloor }),
    atomicity: atomicity(grant, convention?.freedBy),
    alsoFalls: how.endSession === true ? fallsWithSession(seen) : known([]),
    warnings: [...(convention?.warnings ?? []), ...warnings(seen, grant)],
    possible,
  };
}

const uniqueStep =
  'the delete compares the data version in its own step, and a name with a GUID is never created again';
const bumpedStep =
  'conditional writes raise the data version by 16 and answer with the czxid, then the delete compares the raised version: a node that took its place stays';

const freeingStep =
  'the write compares the data version in its own step and answers with the czxid: a node that took its place gets its own data back';

function atomicity(grant: NodeIdentity | undefined, freedBy: Text | undefined): string {
  if (freedBy !== undefined) return freeingStep;
  return grant?.uniqueName === true ? uniqueStep : bumpedStep;
}

function releasedRecord(grant: NodeIdentity, freedBy: Text | undefined): ReleasedRecord {
  const record = { record: stringToText(grant.path), condition: conditionOf(grant) };
  return freedBy === undefined ? record : { ...record, writes: freedBy };
}

function conditionOf(grant: NodeIdentity): string {
  const parts = [`its czxid is still ${grant.czxid}`];
  if (grant.parentCzxid !== undefined) parts.push(`its parent’s is still ${grant.parentCzxid}`);
  if (grant.version !== undefined) parts.push(`its data version is still ${grant.version}`);
  return parts.join(', ');
}

function otherHolders(seen: LockSnapshot, grant: NodeIdentity | undefined): readonly Text[] {
  const holders = valueOf(seen.holders) ?? [];
  return holders.flatMap(({ record }) =>
    record === undefined || grant === undefined || stringToText(grant.path).endsWith(`/${record}`)
      ? []
      : [record],
  );
}

function nextHolder(seen: LockSnapshot, grant: NodeIdentity | undefined): Known<Waiter | 'nobody'> {
  const { waiters } = seen;
  const others = otherHolders(seen, grant);
  if (others.length > 0 && seen.mode === 'shared') return known('nobody');
  if (waiters.kind === 'exact') return known(waiters.list[0] ?? 'nobody');
  return waiters.kind === 'unknown'
    ? waiters
    : unknown(`${waiters.count} wait; which is next is not known`);
}

/** Everything else of the session; the lock's own node is not in the list. */
function fallsWithSession({ lease }: LockSnapshot): Known<readonly Text[]> {
  if (lease.kind !== 'session') return unknown('it belongs to no session');
  return lease.shared ?? unknown('what else belongs to this session was not asked');
}

function warnings(seen: LockSnapshot, grant: NodeIdentity | undefined): readonly string[] {
  if (grant === undefined) return [];
  const found = [
    'the next grant has a larger czxid by itself: a resource must refuse the smaller one',
    'the owner is not told: its session lives on, and it may go on working',
  ];
  const others = otherHolders(seen, grant);
  if (others.length > 0) {
    found.push(`${others.length} other holders stay: ${others.slice(0, 3).join(', ')}`);
  }
  if (!grant.uniqueName) {
    found.push(
      'it needs the right to WRITE the node besides DELETE on its parent: the same name can be created again, and only a write tells which node it is',
    );
  }
  return [...found, ...strandedWarnings(seen)];
}

/** One that watches nothing is not woken: freeing the lock does not get it going. */
function strandedWarnings({ waiters }: LockSnapshot): readonly string[] {
  if (waiters.kind !== 'exact') return [];
  return waiters.list.flatMap(({ record, watches, position }) => {
    if (watches === undefined || valueOf(watches) !== 'nothing' || record === undefined) return [];
    return [
      position === 1
        ? `the next in line, ${record}, watches nothing: nobody tells it that it holds the lock`
        : `${record} watches nothing: nobody will tell it when its turn comes`,
    ];
  });
}
