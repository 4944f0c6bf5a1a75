/** From a record, its layout and its leases to the snapshot that the rest of fencepost sees. */
import type { Waiters } from '../../domain/holder.ts';
import { mapKnown, unknown } from '../../domain/known.ts';
import type { Lease } from '../../domain/lease.ts';
import type { LockNote, LockSnapshot, ServerView } from '../../domain/lock.ts';
import type { Text } from '../../domain/text.ts';
import type { Decoded, EtcdKey, EtcdRecord } from '../../conventions/convention.ts';
import { firstInQueue, leaseHex } from '../../conventions/etcd-queue.ts';
import { toIdentity } from './identity.ts';
import { toLease, type LeaseState } from './leases.ts';
import { toRecognition, type Recognised } from './recognise.ts';

export interface SnapshotContext {
  readonly clusterId: string;
  readonly server: ServerView;
}

/** The key that holds the lock. */
export function holderOf(record: EtcdRecord): EtcdKey | undefined {
  return firstInQueue(record.keys);
}

/** One lock, or with `recognised` undefined one record that is nobody's lock. */
export function toSnapshot(
  context: SnapshotContext,
  record: EtcdRecord,
  recognised: Recognised | undefined,
  states: ReadonlyMap<bigint, LeaseState>,
  extraNotes: readonly LockNote[] = [],
): LockSnapshot {
  const decoded = recognised?.convention.decode(record) ?? undecoded();
  const own = new Set(record.keys.map(({ key }) => key));
  const leases = new Map(record.keys.map(({ key, lease }) => [key, toLease(lease, states, own)]));
  const holder = holderOf(record);
  return {
    ref: { name: record.name, ...(recognised && { convention: recognised.convention.id }) },
    state: decoded.state,
    recognition: toRecognition(recognised),
    mode: decoded.mode,
    holders: mapKnown(decoded.holders, (holders) =>
      // The first key's lease is the lock's own.
      holders.map((one) =>
        one.record === holder?.key ? one : { ...one, ...leaseOf(one.record, leases) },
      ),
    ),
    lease: leases.get(holder?.key ?? record.name) ?? { kind: 'unknown', reason: 'nobody holds it' },
    waiters: withLeases(decoded.waiters, leases),
    fence: decoded.fence,
    heldForMs: decoded.heldForMs,
    helpers: decoded.helpers,
    notes: [...decoded.notes, ...endedNotes(holder, states), ...extraNotes],
    identity:
      recognised === undefined || holder === undefined
        ? undefined
        : toIdentity(context.clusterId, recognised.convention.id, record, holder),
    server: context.server,
  };
}

function leaseOf(
  record: Text | undefined,
  leases: ReadonlyMap<Text, Lease>,
): { readonly lease?: Lease } {
  const lease = record === undefined ? undefined : leases.get(record);
  return lease === undefined ? {} : { lease };
}

function withLeases(waiters: Waiters, leases: ReadonlyMap<Text, Lease>): Waiters {
  if (waiters.kind !== 'exact') return waiters;
  return {
    kind: 'exact',
    list: waiters.list.map((waiter) => ({ ...waiter, ...leaseOf(waiter.record, leases) })),
  };
}

/** The key outlives its lease for a moment: the leader takes it away with the lease. */
function endedNotes(
  holder: EtcdKey | undefined,
  states: ReadonlyMap<bigint, LeaseState>,
): LockNote[] {
  if (holder === undefined || states.get(holder.lease)?.kind !== 'gone') return [];
  return [
    {
      code: 'lease-ended',
      severity: 'info',
      text: `lease ${leaseHex(holder.lease)} has ended: its keys are going`,
    },
  ];
}

function undecoded(): Decoded {
  return {
    state: 'unknown',
    mode: 'exclusive',
    holders: unknown(
      'a key in no known lock layout',
      'name its layout with --convention if it is a lock',
    ),
    waiters: { kind: 'unknown', reason: 'not recognised as a lock' },
    fence: { kind: 'unknown', reason: 'not recognised as a lock' },
    heldForMs: unknown('not recognised as a lock'),
    helpers: [],
    notes: [],
    weakOwner: false,
  };
}
