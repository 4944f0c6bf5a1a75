/**
 * Go's concurrency package, `etcdctl lock` and `elect`, the v3lock and v3election services (jetcd):
 * `name/<lease id in hex>`, empty for a mutex, the candidate's proposal for an election.
 * Our own etcd lease protocol is laid out as an election whose proposal is the owner token.
 * @see etcd c34dc7e: client/v3/concurrency/mutex.go, election.go
 */
import type { EtcdConvention, EtcdRecord } from './convention.ts';
import { decodeQueue, isOnOwnLease, queueOf } from './etcd-queue.ts';

export const etcdConcurrency: EtcdConvention = {
  id: 'etcd-concurrency',
  title: 'etcd concurrency mutex',
  recognises: '<name>/<lease id>, empty: Go concurrency, etcdctl lock, v3lock, jetcd',
  system: 'etcd',
  layout: 'prefix',
  matches: (record) => (record.keys.some(({ value }) => value !== '') ? undefined : sure(record)),
  decode: decodeQueue,
};

export const etcdElection: EtcdConvention = {
  id: 'etcd-election',
  title: 'etcd concurrency election',
  recognises: '<name>/<lease id> → proposal: Go concurrency, etcdctl elect',
  system: 'etcd',
  layout: 'prefix',
  matches: (record) => (record.keys.some(({ value }) => value !== '') ? sure(record) : undefined),
  decode: decodeQueue,
};

/** One key on the lease in its own name proves the layout; none may be chance. */
function sure(record: EtcdRecord): 'high' | 'low' | undefined {
  if (record.keys.length === 0 || record.keys.some((key) => queueOf(key) !== record.name)) {
    return undefined;
  }
  return record.keys.some(isOnOwnLease) ? 'high' : 'low';
}
