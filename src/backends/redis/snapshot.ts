/** From a raw record and its decoder to the snapshot that the rest of fencepost sees. */
import type { Lease } from '../../domain/lease.ts';
import { unknown, valueOf } from '../../domain/known.ts';
import type { LockNote, LockSnapshot, ServerView } from '../../domain/lock.ts';
import type { Decoded, RedisRecord } from '../../conventions/convention.ts';
import { toIdentity, type GrantSource } from './identity.ts';
import { toRecognition, type Recognised } from './recognise.ts';

export interface SnapshotContext extends GrantSource {
  readonly server: ServerView;
}

/** One lock, or with `recognised` undefined one record that is nobody's lock. */
export function toSnapshot(
  context: SnapshotContext,
  record: RedisRecord,
  recognised: Recognised | undefined,
  extraNotes: readonly LockNote[] = [],
): LockSnapshot {
  const decoded = recognised?.convention.decode(record) ?? undecoded(record);
  const name = recognised?.convention.nameOf?.(record.key);
  return {
    ref:
      recognised === undefined || name === undefined
        ? { name: record.key }
        : { name, convention: recognised.convention.id },
    state: decoded.state,
    recognition: toRecognition(recognised, decoded),
    mode: decoded.mode,
    holders: decoded.holders,
    lease: leaseOf(record, decoded),
    waiters: decoded.waiters,
    fence: decoded.fence,
    heldForMs: decoded.heldForMs,
    helpers: decoded.helpers,
    notes: [...decoded.notes, ...extraNotes],
    identity:
      recognised === undefined || !isGrant(record)
        ? undefined
        : toIdentity(context, recognised.convention, record),
    server: context.server,
  };
}

/** There is a record, and all of it was read: only then can a release compare it. */
function isGrant(record: RedisRecord): boolean {
  return record.value !== undefined || record.fields !== undefined;
}

function leaseOf(record: RedisRecord, decoded: Decoded): Lease {
  if (record.type === 'none') return { kind: 'unknown', reason: 'nobody holds it' };
  if (record.ttlMs === undefined) return { kind: 'never' };
  const own = decoded.holders.kind === 'known' ? decoded.holders.value[0]?.lease : undefined;
  const grantedMs =
    own?.kind === 'ttl' ? own.grantedMs : unknown('Redis keeps only what is left of a TTL');
  return { kind: 'ttl', ttlMs: record.ttlMs, grantedMs };
}

function undecoded(record: RedisRecord): Decoded {
  return {
    state: 'unknown',
    mode: 'exclusive',
    holders: unknown(
      `a ${record.type} in no known lock layout`,
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

/** Owners of a snapshot, for telling that two locks share one. */
export function ownersOf(snapshot: LockSnapshot): readonly string[] {
  return (valueOf(snapshot.holders) ?? []).map((holder) => holder.owner);
}
