/** etcd conventions, most specific first; of two that are equally sure the first one is named. */
import type { EtcdConvention } from './convention.ts';
import { etcdConcurrency, etcdElection } from './etcd-concurrency.ts';
import { etcd3Lock, patroniEtcd, plainEtcd, pythonEtcd3, shedLockEtcd } from './etcd-single-key.ts';

export const etcdConventions: readonly EtcdConvention[] = [
  etcdConcurrency,
  etcdElection,
  patroniEtcd,
  pythonEtcd3,
  shedLockEtcd,
  etcd3Lock,
  plainEtcd,
];
