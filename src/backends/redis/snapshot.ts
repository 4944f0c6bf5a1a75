/** From a raw record and its decoder to the snapshot that the rest of fencepost sees. */
import type { Lease } from '../../domain/lease.ts';
import { unknown, valueOf } from '../../domain/known.ts';
import type {
  LockIdentity,
  LockNote,
  LockRef,
  LockSnapshot,
  ServerView,
} from '../../domain/lock.ts';
import type { Text } from '../../domain/text.ts';
import type { Decoded, RedisConvention, RedisRecord } from '../../conventions/convention.ts';
import { toIdentity, type GrantSource } from './identity.ts';
import { toRecognition, type Recognised } from './recognise.ts';

export interface SnapshotContext extends GrantSource {
  readonly server: ServerView;
  /** Redis Cluster only: the hash slot of a key. */
  readonly slotOf?: (key: Text) => number;
}

/** One lock, or with `recognised` undefined one record that is nobody's lock. */
export function toSnapshot(
  context: SnapshotContext,
  record: RedisRecord,
  recognised: Recognised | undefined,
  { notes = [], holder: named }: { notes?: readonly LockNote[]; holder?: Text | undefined } = {},
): LockSnapshot {
  const decoded = recognised?.convention.decode(record) ?? undecoded(record);
  const holder = named ?? onlyExpired(decoded);
  return {
    ref: refOf(record, recognised, holder),
    state: decoded.state,
    recognition: toRecognition(recognised, decoded),
    mode: decoded.mode,
    holders: decoded.holders,
    lease: leaseOf(record, decoded),
    waiters: decoded.waiters,
    fence: decoded.fence,
    heldForMs: decoded.heldForMs,
    helpers: decoded.helpers,
    notes: [...decoded.notes, ...notes, ...splitNotes(context, record, decoded)],
    identity:
      recognised === undefined
        ? undefined
        : identityOf(context, record, recognised.convention, holder ?? onlyHolder(decoded)),
    server:
      context.slotOf === undefined
        ? context.server
        : { ...context.server, slot: context.slotOf(record.key) },
  };
}

/** Keys in several slots cannot change in one step: neither can the lock with its fence or queue. */
function splitNotes(
  { slotOf }: SnapshotContext,
  { key }: RedisRecord,
  { helpers }: Decoded,
): readonly LockNote[] {
  const apart = slotOf === undefined ? [] : helpers.filter((one) => slotOf(one) !== slotOf(key));
  return apart.length === 0
    ? []
    : [
        {
          code: 'split-slots',
          severity: 'warn',
          text: `${apart.join(', ')} ${apart.length === 1 ? 'lies' : 'lie'} in another hash slot than the lock: they cannot change in one step`,
        },
      ];
}

/** The name that people use, and what finds this very lock by it again. */
function refOf(
  { key }: RedisRecord,
  recognised: Recognised | undefined,
  holder: Text | undefined,
): LockRef {
  const name = recognised?.convention.nameOf?.(key);
  return {
    ...(recognised === undefined || name === undefined
      ? { name: key }
      : { name, convention: recognised.convention.id }),
    ...(holder === undefined ? {} : { holder }),
  };
}

/** Of several holders the one whose own time has run out: the one that a release would be about. */
function onlyExpired({ holders }: Decoded): Text | undefined {
  const all = valueOf(holders) ?? [];
  if (all.length < 2) return undefined;
  const expired = all.filter(({ lease }) => lease?.kind === 'ttl' && lease.ttlMs <= 0);
  return expired.length === 1 ? expired[0]?.owner : undefined;
}

function onlyHolder({ holders }: Decoded): Text | undefined {
  const owners = new Set((valueOf(holders) ?? []).map(({ owner }) => owner));
  return owners.size === 1 ? [...owners][0] : undefined;
}

/** Undefined: there is no record, or not all of it was read: a release could not compare it. */
function identityOf(
  context: SnapshotContext,
  record: RedisRecord,
  convention: RedisConvention,
  holder: Text | undefined,
): LockIdentity | undefined {
  if (convention.grantOf === undefined) {
    const whole = record.value !== undefined || record.fields !== undefined;
    return whole ? toIdentity(context, convention, record) : undefined;
  }
  return convention.grantOf(record, holder) === undefined
    ? undefined
    : toIdentity(context, convention, record, holder);
}

function leaseOf(record: RedisRecord, decoded: Decoded): Lease {
  if (decoded.lease !== undefined) return decoded.lease;
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
