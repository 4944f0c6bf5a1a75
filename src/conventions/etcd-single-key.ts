/** Layouts in which one etcd key is the lock: no queue, and whoever creates it first has it. */
import { known, unknown, type Known } from '../domain/known.ts';
import type { OwnerPlace, Waiters } from '../domain/holder.ts';
import { parseText, stringToText, textToBytes, type Text } from '../domain/text.ts';
import type { Decoded, EtcdConvention, EtcdKey, EtcdRecord } from './convention.ts';
import { decodeKey, isOnOwnLease, leaseHex } from './etcd-queue.ts';
import { machineOf } from './time-uuid.ts';

/** The only key of a record, when it is named as the record is. */
function onlyKey(record: EtcdRecord): EtcdKey | undefined {
  const [key, ...others] = record.keys;
  return others.length === 0 && key?.key === record.name ? key : undefined;
}

const polled: Waiters = {
  kind: 'unknown',
  reason: 'this layout keeps no record of waiters: they poll or give up',
};

const watched: Waiters = {
  kind: 'unknown',
  reason: 'waiters watch the key, and etcd does not show who watches',
};

/**
 * The npm package etcd3, which is not the v3lock service: it and Go's mutex do not exclude each other.
 * @see microsoft/etcd3 e74db2a: src/lock.ts
 */
export const etcd3Lock: EtcdConvention = {
  id: 'etcd3-lock',
  title: 'etcd3 (npm) lock',
  recognises: '<name>, empty, on a lease',
  system: 'etcd',
  layout: 'key',
  matches(record) {
    const key = onlyKey(record);
    return key?.value === '' && key.lease !== 0n && !isOnOwnLease(key) ? 'medium' : undefined;
  },
  decode: (record) => decodeKey(record, leaseOwner(record), polled),
};

function leaseOwner(record: EtcdRecord): Text {
  const [key] = record.keys;
  return key === undefined || key.lease === 0n ? stringToText('') : leaseHex(key.lease);
}

/** python-etcd3: `/locks/<name>` holds the 16 raw bytes of a version 1 UUID. @see python-etcd3 e58a899: etcd3/locks.py */
export const pythonEtcd3: EtcdConvention = {
  id: 'python-etcd3',
  title: 'python-etcd3 lock',
  recognises: '/locks/<name> → 16 bytes of a UUID',
  system: 'etcd',
  layout: 'key',
  matches(record) {
    const key = onlyKey(record);
    if (key?.key.startsWith('/locks/') !== true) return undefined;
    return isUuid1(textToBytes(key.value)) ? 'high' : undefined;
  },
  decode(record) {
    const hex = toHex(textToBytes(record.keys[0]?.value ?? ''));
    return withPlace(decodeKey(record, stringToText(hex), watched), machineOf(hex));
  },
};

function isUuid1(bytes: Uint8Array): boolean {
  return bytes.length === 16 && (bytes[6] ?? 0) >> 4 === 1 && (bytes[8] ?? 0) >> 6 === 2;
}

function toHex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

const shedLockValue = /^[A-Z]+:(\d{4}-\d\d-\d\dT[^@]+)@(.+)$/;

/** ShedLock on jetcd: `shedlock:<environment>:<name>` → `ADDED:<time>@<host>`. @see ShedLock 2495b14 */
export const shedLockEtcd: EtcdConvention = {
  id: 'shedlock-etcd',
  title: 'ShedLock',
  recognises: 'shedlock:<env>:<name> → ADDED:<time>@<host>',
  system: 'etcd',
  layout: 'key',
  warnings: [
    'a key may outlive its run: with lockAtLeastFor ShedLock leaves it there under a short lease',
  ],
  matches(record) {
    const key = onlyKey(record);
    if (key === undefined || !shedLockValue.test(key.value)) return undefined;
    return key.key.startsWith('shedlock:') ? 'high' : 'medium';
  },
  decode(record) {
    const [, since = '', name = ''] = shedLockValue.exec(record.keys[0]?.value ?? '') ?? [];
    const host = parseText(name);
    const decoded = withPlace(decodeKey(record, host, polled), known({ host, source: 'value' }));
    return {
      ...decoded,
      heldForMs: unknown(`since ${since} by the owner's own clock, and etcd tells no time`),
    };
  },
};

/** `optime/leader` is a position that the leader writes, not the leader. */
const patroniKey = /^\/(?:[^/]+\/)*(?!optime\/)[^/]+\/leader$/;

/** Patroni's leader key: its cluster fails over when it goes. @see patroni de6b22c: patroni/dcs/etcd3.py */
export const patroniEtcd: EtcdConvention = {
  id: 'patroni',
  title: 'Patroni leader',
  recognises: '/<namespace>/<scope>/leader → member',
  system: 'etcd',
  layout: 'key',
  forbidden:
    'this looks like the leader key of a Patroni cluster: deleting it makes PostgreSQL fail over; use patronictl, or name the layout with --convention if it is none',
  matches(record) {
    const key = onlyKey(record);
    if (key === undefined || key.value === '' || !patroniKey.test(key.key)) return undefined;
    if (key.key.startsWith('/service/')) return 'high';
    return key.lease === 0n ? undefined : 'medium';
  },
  decode: (record) => decodeKey(record, record.keys[0]?.value ?? stringToText(''), watched),
};

/** A home-made lock: any key on a lease. The name or the caller claims it, never its look. */
export const plainEtcd: EtcdConvention = {
  id: 'plain',
  title: 'plain key',
  recognises: 'any key with a lock’s name, on a lease',
  system: 'etcd',
  layout: 'key',
  matches: (record) => (onlyKey(record) === undefined ? undefined : 'low'),
  decode: (record) =>
    decodeKey(record, record.keys[0]?.value ?? stringToText(''), {
      kind: 'unknown',
      reason: 'this layout keeps no record of waiters',
    }),
};

function withPlace(decoded: Decoded, place: Known<OwnerPlace>): Decoded {
  const { holders } = decoded;
  if (holders.kind !== 'known') return decoded;
  return { ...decoded, holders: known(holders.value.map((holder) => ({ ...holder, place }))) };
}
