/** What a release would do, from the snapshot alone: nothing is read or written for it. */
import { known, unknown, valueOf, type Known } from '../../domain/known.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import type { Waiter } from '../../domain/holder.ts';
import type { PreviewOptions, ReleasePreview } from '../../domain/release.ts';
import type { Text } from '../../domain/text.ts';
import { leaseHex } from '../../conventions/etcd-queue.ts';
import { previewFloor } from './fence-floor.ts';
import { readIdentity, type StoredGrant } from './identity.ts';
import type { EtcdConventions } from './recognise.ts';

/** Why a release is out of the question, or undefined. */
export function impossible(
  conventions: EtcdConventions,
  seen: LockSnapshot,
  how: PreviewOptions,
): { readonly reason: string; readonly remedy?: string } | undefined {
  if (seen.identity === undefined) return nothingToRelease(seen);
  const grant = readIdentity(seen.identity.record);
  const { forbidden } = conventions.byId(grant.convention);
  if (forbidden !== undefined) return { reason: forbidden };
  if (how.endSession === true && grant.lease === 0n) {
    return { reason: 'the key hangs on no lease: there is no session to end' };
  }
  if (how.endSession === true && how.hold !== undefined) {
    return {
      reason:
        'a hold keeps the key under a lease of its own: it and ending the session are two acts',
    };
  }
  return undefined;
}

function nothingToRelease(seen: LockSnapshot): { reason: string; remedy?: string } {
  if (seen.state === 'free' || seen.state === 'orphan-waiters') {
    return { reason: 'nobody holds it: there is no key to release' };
  }
  return {
    reason: 'no lock layout recognised',
    remedy: 'name its layout with --convention if it is a lock',
  };
}

export function previewRelease(
  conventions: EtcdConventions,
  seen: LockSnapshot,
  how: PreviewOptions,
): ReleasePreview {
  const no = impossible(conventions, seen, how);
  const possible = no === undefined ? { can: true as const } : { can: false as const, ...no };
  const grant = seen.identity && readIdentity(seen.identity.record);
  return {
    deletes: grant === undefined ? [] : [{ record: grant.key, condition: conditionOf(grant) }],
    wakes: [],
    next: how.hold === undefined ? nextHolder(seen) : known('nobody'),
    raisesFence: undefined,
    ...(grant === undefined || how.fenceFloor === undefined
      ? {}
      : { fenceFloor: previewFloor(grant, how.fenceFloor) }),
    atomicity:
      'one transaction compares both revisions and the lease, and only then acts; it is sent once',
    ...(grant === undefined || how.endSession !== true
      ? {}
      : { afterwards: revocation(seen, grant) }),
    alsoFalls: how.endSession === true ? fallsWithLease(seen) : known([]),
    warnings: [...warnings(seen, grant, how), ...layoutWarnings(conventions, grant)],
    possible,
  };
}

function layoutWarnings(
  conventions: EtcdConventions,
  grant: StoredGrant | undefined,
): readonly string[] {
  return grant === undefined ? [] : (conventions.byId(grant.convention).warnings ?? []);
}

function conditionOf(grant: StoredGrant): string {
  const { createRevision: created, modRevision: changed } = grant;
  const since = changed === created ? 'unchanged since' : `last changed at ${changed}`;
  const lease = grant.lease === 0n ? 'on no lease' : `on lease ${leaseHex(grant.lease)}`;
  return `it is still the key created at revision ${created}, ${since}, ${lease}`;
}

function nextHolder({ waiters }: LockSnapshot): Known<Waiter | 'nobody'> {
  if (waiters.kind === 'exact') return known(waiters.list[0] ?? 'nobody');
  return waiters.kind === 'unknown'
    ? waiters
    : unknown(`${waiters.count} wait; which is next is not known`);
}

/** Everything on the lease but the lock's key itself, which the transaction deletes. */
function fallsWithLease({ lease }: LockSnapshot): Known<readonly Text[]> {
  if (lease.kind !== 'ttl') return unknown('what hangs on this lease could not be read');
  return lease.shared ?? unknown('what hangs on this lease was not asked');
}

function revocation(seen: LockSnapshot, grant: StoredGrant): string {
  const falls = valueOf(fallsWithLease(seen)) ?? [];
  const now = falls.length === 0 ? '' : `, at present ${falls.join(', ')}`;
  return `revoke lease ${leaseHex(grant.lease)}, in a step of its own without a condition: with it goes everything that is on it by then${now}`;
}

function warnings(
  seen: LockSnapshot,
  grant: StoredGrant | undefined,
  how: PreviewOptions,
): readonly string[] {
  if (grant === undefined) return [];
  if (how.hold === undefined) return how.endSession === true ? [] : [untoldWarning(seen, grant)];
  return [
    `the fence stays ${grant.createRevision} under the hold: the key keeps its create revision`,
    `the key keeps its name: the owner's own unlock would end the hold`,
    'the owner is not told: its lease lives on, and it may go on working',
  ];
}

/** The one thing that tells an owner has its price. */
function untoldWarning(seen: LockSnapshot, { lease }: StoredGrant): string {
  if (lease === 0n) return 'the owner is not told, and has no lease whose end could tell it';
  const falls = fallsWithLease(seen);
  const price =
    falls.kind === 'unknown' || falls.value.length > 0 ? ', and takes all else on it along' : '';
  return `the owner is not told: lease ${leaseHex(lease)} lives on, and it may go on working; --end-session ends that lease${price}`;
}
