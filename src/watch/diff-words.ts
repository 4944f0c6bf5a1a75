/** The words for what two captures show of a lock: from → to, as a change of hands is always told. */
import type { FencingToken } from '../domain/fence.ts';
import { changeSentence, ownerName } from './change-words.ts';
import type { ChangeKind, LockChange } from './changes.ts';

/** What tells of hands, fences and states; how a lease went between two far looks tells nothing. */
const told: ReadonlySet<ChangeKind> = new Set<ChangeKind>([
  'taken',
  'retaken',
  'handed-over',
  'freed',
  'no-ttl',
  'state',
  'fence-fell',
  'fence-repeated',
]);

export function isToldInDiff(change: { readonly kind: ChangeKind }): boolean {
  return told.has(change.kind);
}

/** `pod-1 fence 12 → pod-2 fence 13`, without the name of the lock. */
export function diffSentence(change: LockChange): string {
  const { kind } = change;
  if (kind === 'taken') return fromTo('nobody', grant(change.owner, change.fence));
  if (kind === 'freed') return fromTo(grant(change.oldOwner, change.oldFence), 'nobody');
  if (kind !== 'handed-over' && kind !== 'retaken') return changeSentence(change);
  const now = grant(change.owner, change.fence);
  return kind === 'handed-over'
    ? fromTo(grant(change.oldOwner, change.oldFence), now)
    : `${fromTo(grant(change.owner, change.oldFence), now)} (the same owner, another grant)`;
}

function fromTo(from: string, to: string): string {
  return `${from} → ${to}`;
}

function grant(owner: string, fence: FencingToken | undefined): string {
  return `${ownerName(owner)}${fence === undefined ? '' : ` fence ${fence}`}`;
}
