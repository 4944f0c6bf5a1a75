/** What a release would do, from the snapshot alone: nothing is read or written for it. */
import { known, unknown, type Known } from '../../domain/known.ts';
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
      'one transaction: create revision, modification revision and lease are compared in the step that deletes',
    alsoFalls: how.endSession === true ? fallsWithLease(seen) : known([]),
    warnings: [...warnings(grant, how), ...layoutWarnings(conventions, grant)],
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
  const lease =
    grant.lease === 0n ? 'still on no lease' : `still on lease ${leaseHex(grant.lease)}`;
  return `created at revision ${grant.createRevision}, last changed at ${grant.modRevision}, ${lease}`;
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

function warnings(grant: StoredGrant | undefined, how: PreviewOptions): readonly string[] {
  const found: string[] = [];
  if (how.hold !== undefined) {
    found.push(
      `the create revision, and so the fence ${grant?.createRevision ?? ''}, stays the same under the hold`,
      'the key keeps its name: the owner’s own unlock would end the hold',
    );
  } else {
    found.push(
      'the next grant has a larger create revision by itself: a resource must refuse the smaller one',
    );
  }
  if (how.endSession === true) {
    found.push(
      'ending the session is a second, separate step: it cannot be made conditional, and the owner may have taken another lock on that lease meanwhile',
    );
  } else {
    found.push('the owner is not told: its lease lives on, and it may go on working');
  }
  return found;
}
