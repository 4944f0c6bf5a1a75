/** Facts of a sound etcd cluster for audit tests, in which a test changes what it is about. */
import type { AuditFacts } from '../../src/audit/check.ts';
import type { EtcdFacts, EtcdMemberFacts, EtcdStatus } from '../../src/domain/etcd-facts.ts';
import { known } from '../../src/domain/known.ts';
import { stringToText } from '../../src/domain/text.ts';
import { lock, lockSample } from './audit-facts.ts';

const soundMetrics: Readonly<Record<string, number>> = {
  etcd_server_leader_changes_seen_total: 1,
  process_start_time_seconds: Date.parse('2026-11-30T10:00:00.000Z') / 1000,
  etcd_server_quota_backend_bytes: 2_147_483_648,
  'etcd_disk_wal_fsync_duration_seconds_bucket{le="0.008"}': 1000,
  'etcd_disk_wal_fsync_duration_seconds_bucket{le="0.016"}': 1000,
  etcd_disk_wal_fsync_duration_seconds_count: 1000,
  'etcd_disk_backend_commit_duration_seconds_bucket{le="0.008"}': 1000,
  'etcd_disk_backend_commit_duration_seconds_bucket{le="0.064"}': 1000,
  etcd_disk_backend_commit_duration_seconds_count: 1000,
  etcd_debugging_mvcc_compact_revision: -1,
  etcd_debugging_mvcc_current_revision: 40,
};

/** One of the three members. */
export function member(
  number: 1 | 2 | 3,
  status: Partial<EtcdStatus> = {},
  metrics: Readonly<Record<string, number>> = {},
): EtcdMemberFacts {
  return {
    member: `10.0.0.${number}:2379`,
    status: known({
      version: stringToText('3.5.17'),
      leader: 'a1',
      dbSizeBytes: 40_960,
      behind: 0n,
      ...status,
    }),
    metrics: known(new Map(Object.entries({ ...soundMetrics, ...metrics }))),
    leases: known([['1f', '2f'], ['1f']]),
  };
}

export function etcdFacts(
  changes: Partial<EtcdFacts> = {},
  locks = lockSample([lock('a', 9000)]),
): AuditFacts<EtcdFacts> {
  return {
    server: {
      kind: 'etcd',
      server: '10.0.0.1:2379',
      at: '2026-12-01T10:00:00.000Z',
      encrypted: true,
      certificate: false,
      peers: known(
        ['a1', 'a2', 'a3'].map((id) => ({ id, name: stringToText(`etcd-${id}`), learner: false })),
      ),
      members: [member(1), member(2), member(3)],
      alarms: known([]),
      openToAll: known(false),
      leaseKeys: known(new Map()),
      wideRoles: known([]),
      account: known(stringToText('auditor')),
      mayWrite: known(false),
      ...changes,
    },
    locks,
  };
}
