/**
 * What the etcd layouts share: a queue of keys `name/<lease id in hex>` in which the key created
 * first holds and the others wait, and a single key that is the lock.
 */
import type { Holder, OwnerToken, Waiter, Waiters } from '../domain/holder.ts';
import { known, unknown } from '../domain/known.ts';
import type { LockNote } from '../domain/lock.ts';
import { parseText, stringToText, type Text } from '../domain/text.ts';
import type { Decoded, EtcdKey, EtcdRecord } from './convention.ts';
import { placeInValue, weakness } from './owner-shape.ts';

/** A lease id as etcdctl prints it. */
export function leaseHex(lease: bigint): Text {
  return stringToText(lease.toString(16));
}

const hexSuffix = /^[1-9a-f][0-9a-f]{0,15}$/;
/** Lease ids are random in their upper bits: a shorter suffix is some other name. */
const leastDigits = 12;

/**
 * The queue that a key stands in by its name: `jobs/694d…` stands in `jobs`. A key on another lease
 * than its name says, or on none, still does if the name looks like a lease id: somebody put it again.
 */
export function queueOf(key: Pick<EtcdKey, 'key' | 'lease'>): Text | undefined {
  const slash = key.key.lastIndexOf('/');
  if (slash <= 0) return undefined;
  const suffix = key.key.slice(slash + 1);
  if (!hexSuffix.test(suffix)) return undefined;
  const ours = suffix === leaseHex(key.lease);
  return ours || suffix.length >= leastDigits ? parseText(key.key.slice(0, slash)) : undefined;
}

/** Whether the key hangs on the lease that its name says. */
export function isOnOwnLease(key: Pick<EtcdKey, 'key' | 'lease'>): boolean {
  return key.lease !== 0n && key.key.endsWith(`/${leaseHex(key.lease)}`);
}

/** First created first; of keys created in one transaction, the one whose name comes first. */
function inOrder(a: EtcdKey, b: EtcdKey): number {
  if (a.createRevision !== b.createRevision) return a.createRevision < b.createRevision ? -1 : 1;
  return a.key < b.key ? -1 : 1;
}

/** The queue from its holder to its end. */
export function inQueueOrder(keys: readonly EtcdKey[]): readonly EtcdKey[] {
  return keys.length < 2 ? keys : [...keys].sort(inOrder);
}

/** The key that holds the lock; undefined when there is none. */
export function firstInQueue(keys: readonly EtcdKey[]): EtcdKey | undefined {
  let first: EtcdKey | undefined;
  for (const key of keys) if (first === undefined || inOrder(key, first) < 0) first = key;
  return first;
}

/** Reads a queue. The owner is what the key holds, or the lease id in its name. */
export function decodeQueue(record: EtcdRecord): Decoded {
  const [first, ...others] = inQueueOrder(record.keys);
  return {
    ...common(first),
    holders: known(first === undefined ? [] : [holderOf(first, ownerInQueue(first))]),
    waiters: { kind: 'exact', list: others.map(waiterOf) },
    notes: [...nameNotes(record.name), ...record.keys.flatMap(leaseNotes)],
    weakOwner: first !== undefined && isWeakOwner(first),
  };
}

/** Go appends a slash to whatever name it is given: `a` and `a/` are two locks. */
function nameNotes(name: Text): LockNote[] {
  if (!name.endsWith('/')) return [];
  return [
    {
      code: 'trailing-slash',
      severity: 'info',
      text: `"${name}" ends with a slash: it and "${name.replace(/\/+$/, '')}" are two locks`,
    },
  ];
}

/** A proposal or value that other holders may write alike. */
function isWeakOwner({ value }: EtcdKey): boolean {
  return value !== '' && weakness(value) !== undefined;
}

/** Reads a single key whose owner token is `owner`. */
export function decodeKey(record: EtcdRecord, owner: OwnerToken, waiters: Waiters): Decoded {
  const [key] = record.keys;
  return {
    ...common(key),
    holders: known(key === undefined ? [] : [holderOf(key, owner)]),
    waiters,
    notes: key?.lease === 0n ? [immortal(key)] : [],
    weakOwner: key !== undefined && isWeakOwner(key),
  };
}

function common(
  holder: EtcdKey | undefined,
): Pick<Decoded, 'state' | 'mode' | 'fence' | 'heldForMs' | 'helpers'> {
  return {
    state: holder === undefined ? 'free' : holder.lease === 0n ? 'no-ttl' : 'held',
    mode: 'exclusive',
    fence:
      holder === undefined
        ? { kind: 'unknown', reason: 'nobody holds it' }
        : { kind: 'token', token: holder.createRevision, source: 'create-revision' },
    heldForMs: unknown(
      'etcd keeps no times of its revisions',
      'write the time of the grant into the owner value',
    ),
    helpers: [],
  };
}

function ownerInQueue(key: EtcdKey): OwnerToken {
  return key.value === '' ? stringToText(key.key.slice(key.key.lastIndexOf('/') + 1)) : key.value;
}

function holderOf(key: EtcdKey, owner: OwnerToken): Holder {
  const place =
    key.value === ''
      ? unknown('etcd does not tell which client has a lease, and the key is empty')
      : placeInValue(key.value);
  return { owner, place, holds: 1, record: key.key };
}

function waiterOf(key: EtcdKey, index: number): Waiter {
  return {
    position: index + 1,
    owner: ownerInQueue(key),
    record: key.key,
    note: `since revision ${key.createRevision}`,
    ...(key.lease === 0n ? { lease: { kind: 'never' as const } } : {}),
  };
}

function leaseNotes(key: EtcdKey): LockNote[] {
  if (key.lease === 0n) return [immortal(key)];
  if (isOnOwnLease(key)) return [];
  return [
    {
      code: 'other-lease',
      severity: 'warn',
      text: `${key.key} hangs on lease ${leaseHex(key.lease)}, not on the one in its name: it was put again`,
    },
  ];
}

function immortal(key: EtcdKey): LockNote {
  return {
    code: 'immortal-key',
    severity: 'warn',
    text: `${key.key} hangs on no lease: it stays until somebody deletes it`,
  };
}
