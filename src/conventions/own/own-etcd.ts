/** A convention on etcd from a team's description: one key, or a queue of keys on leases. */
import type { OwnerToken } from '../../domain/holder.ts';
import type { Text } from '../../domain/text.ts';
import type { Decoded, EtcdConvention, EtcdRecord } from '../convention.ts';
import { decodeKey, decodeQueue, queueOf } from '../etcd-queue.ts';
import type { OwnEtcd } from './description.ts';
import { readOwner, withOwners } from './owner.ts';
import { matchTemplate } from './template.ts';

export function ownEtcd(description: OwnEtcd): EtcdConvention {
  const { id, title, confidence, type, warnings, neverRelease } = description;
  return {
    id,
    title,
    system: 'etcd',
    recognises: type === 'queue' ? `${description.key.source}/<lease id>` : description.key.source,
    layout: type === 'queue' ? 'prefix' : 'key',
    warnings,
    ...(neverRelease === undefined ? {} : { forbidden: neverRelease }),
    matches: (record) => (fits(description, record) ? confidence : undefined),
    decode: (record) => decode(description, record),
  };
}

function fits({ key, type, owner }: OwnEtcd, record: EtcdRecord): boolean {
  if (record.keys.length === 0 || matchTemplate(key, record.name) === undefined) return false;
  // The contenders of a mutex have no value; then the lease in the name is the owner.
  if (type === 'queue') return record.keys.every((one) => queueOf(one) === record.name);
  const [only, ...others] = record.keys;
  return (
    others.length === 0 && only?.key === record.name && readOwner(owner, only.value) !== undefined
  );
}

function decode({ type, owner }: OwnEtcd, record: EtcdRecord): Decoded {
  const valueAt = (name: Text): Text | undefined =>
    record.keys.find(({ key }) => key === name)?.value;
  const decoded =
    type === 'queue'
      ? decodeQueue(record)
      : decodeKey(record, valueOf(record), {
          kind: 'unknown',
          reason: 'this layout keeps no record of waiters',
        });
  return withOwners(decoded, owner, valueAt);
}

function valueOf(record: EtcdRecord): OwnerToken {
  return record.keys[0]?.value ?? record.name;
}
