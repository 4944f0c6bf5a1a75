/** One lock in full: its record, every lease in its queue, and what points to a living owner. */
import type {
  LockDetail,
  LockNote,
  LockRef,
  LockSnapshot,
  OwnerEvidence,
} from '../../domain/lock.ts';
import { known, unknown } from '../../domain/known.ts';
import { bytesToText, textToBytes } from '../../domain/text.ts';
import type { EtcdLink } from '../../clients/etcd/link.ts';
import type { EtcdKey } from '../../conventions/convention.ts';
import { leaseHex } from '../../conventions/etcd-queue.ts';
import { sharedOwnerNote } from '../../conventions/owner-shape.ts';
import { findLock, type Found } from './find.ts';
import { readLeases, type LeaseState } from './leases.ts';
import { prefixRange } from './key-range.ts';
import { readContext } from './server-view.ts';
import { holderOf, toSnapshot } from './snapshot.ts';
import type { EtcdWorld } from './world.ts';

/** @throws {UsageError} `wrong-type`, `unknown-convention` */
export async function inspectLock(
  world: EtcdWorld,
  ref: LockRef,
  signal: AbortSignal,
): Promise<LockDetail | undefined> {
  const { link } = world;
  const context = await readContext(link, signal);
  const found = await findLock(world, ref, signal);
  if (found === undefined) return undefined;
  const { record, recognised, notes } = found;
  const leases = record.keys.map(({ lease }) => lease);
  const states = await readLeases(link, leases, { keys: true, signal });
  const blockers = await olderKeyNotes(link, found, signal);
  const snapshot = toSnapshot(context, record, recognised, states, [
    ...notes,
    ...blockers,
    ...ownerNotes(found),
  ]);
  const holder = holderOf(record);
  return {
    ...withoutGetters(snapshot),
    evidence: evidenceOf(snapshot, holder, states),
    facts: factsOf(found, holder),
  };
}

function ownerNotes({ record, recognised }: Found): readonly LockNote[] {
  return recognised?.convention.decode(record).weakOwner === true
    ? [sharedOwnerNote('revisions, which no two grants share')]
    : [];
}

/** A spread reads the lazy identity; here somebody will want it. */
function withoutGetters(snapshot: LockSnapshot): LockSnapshot {
  return { ...snapshot };
}

/** Go's mutex waits for every older key under its prefix, whatever it is. */
async function olderKeyNotes(
  link: EtcdLink,
  { record, recognised, revision }: Found,
  signal: AbortSignal,
): Promise<readonly LockNote[]> {
  const holder = holderOf(record);
  if (holder === undefined || recognised?.convention.layout !== 'prefix') return [];
  const { from, end } = prefixRange(textToBytes(`${record.name}/`));
  const request = {
    key: Buffer.from(from),
    ...(end === undefined ? {} : { range_end: Buffer.from(end) }),
    revision: String(revision),
    max_create_revision: String(holder.createRevision - 1n),
    limit: 1,
    keys_only: true,
  };
  const reply = await link.read((api, options) => api.kv.range(request, options), { signal });
  return reply.kvs.map(({ key }) => ({
    code: 'older-key-under-prefix',
    severity: 'warn',
    text: `${bytesToText(key)} is older and lies under the prefix of this lock: Go's mutex waits for it as well`,
  }));
}

function evidenceOf(
  snapshot: LockSnapshot,
  holder: EtcdKey | undefined,
  states: ReadonlyMap<bigint, LeaseState>,
): readonly OwnerEvidence[] {
  if (holder === undefined || snapshot.identity === undefined) return [];
  const connection: OwnerEvidence = {
    name: 'owner-connection',
    source: 'etcd',
    points: 'none',
    finding: unknown('etcd does not tell which client keeps a lease alive'),
  };
  return [connection, leaseEvidence(holder, states.get(holder.lease))];
}

function leaseEvidence(holder: EtcdKey, state: LeaseState | undefined): OwnerEvidence {
  const base = { name: 'lease', source: 'LeaseTimeToLive' } as const;
  if (state === undefined) {
    const finding = known('the key hangs on no lease: nobody has to renew anything');
    return { ...base, points: 'none', finding };
  }
  if (state.kind === 'unknown') return { ...base, points: 'none', finding: state };
  if (state.kind === 'gone') {
    const finding = known(`lease ${leaseHex(holder.lease)} has ended`);
    return { ...base, points: 'likely-dead', finding };
  }
  const finding = known(
    `lease ${leaseHex(holder.lease)} has ${state.ttlMs / 1000} s left of ${state.grantedMs / 1000} s`,
  );
  return { ...base, points: 'none', finding };
}

function factsOf(found: Found, holder: EtcdKey | undefined): Readonly<Record<string, string>> {
  const facts: Record<string, string> = {
    clusterId: found.clusterId,
    memberId: found.memberId,
    raftTerm: String(found.raftTerm),
    revision: String(found.revision),
    layout: found.recognised?.convention.id ?? 'none',
    contenders: String(found.record.keys.length),
  };
  if (holder === undefined) return facts;
  return {
    ...facts,
    key: holder.key,
    value: holder.value,
    createRevision: String(holder.createRevision),
    modRevision: String(holder.modRevision),
    version: String(holder.version),
    lease: holder.lease === 0n ? 'none' : leaseHex(holder.lease),
  };
}
