import { describe, expect, test } from 'vitest';
import type { AuditFacts } from '../../../src/audit/check.ts';
import { checksOf, findCheck } from '../../../src/audit/registry.ts';
import type { Judgement } from '../../../src/domain/audit-report.ts';
import type { EtcdFacts } from '../../../src/domain/etcd-facts.ts';
import { known, partial, unknown } from '../../../src/domain/known.ts';
import type { LockSnapshot } from '../../../src/domain/lock.ts';
import { stringToText } from '../../../src/domain/text.ts';
import { lock, lockSample } from '../../helpers/audit-facts.ts';
import { etcdFacts, member } from '../../helpers/etcd-audit-facts.ts';

function judge(id: string, of: AuditFacts): Judgement {
  const judgement = findCheck(id).judge(of, { leaseMs: 10_000 });
  if (judgement === undefined) throw new Error(`${id} is not about etcd`);
  return judgement;
}

/** What no server tells. */
const declaredOnly = ['E16'];
const ids = checksOf('etcd').map(({ id }) => id);

function leased(grantedMs: number, ttlMs: number): LockSnapshot {
  const lease = {
    kind: 'ttl',
    ttlMs,
    grantedMs: known(grantedMs),
    id: stringToText('2f'),
  } as const;
  return { ...lock('a', ttlMs), lease };
}

const slowDisk = {
  'etcd_disk_wal_fsync_duration_seconds_bucket{le="0.008"}': 900,
  'etcd_disk_wal_fsync_duration_seconds_bucket{le="0.016"}': 1000,
};
const peer = (id: string, learner: boolean) => ({ id, learner, name: stringToText(id) });

const failing: readonly (readonly [id: string, title: string, of: AuditFacts, found: string])[] = [
  ['E01', 'one member', etcdFacts({ peers: known([peer('a1', false)]) }), '1 voting member'],
  [
    'E01',
    'an even number of voters',
    etcdFacts({ peers: known([peer('a1', false), peer('a2', false), peer('a3', true)]) }),
    '2 voting members',
  ],
  [
    'E02',
    'members that name different leaders',
    etcdFacts({ members: [member(1), member(2, { leader: 'a2' }), member(3)] }),
    'the members name a1 and a2',
  ],
  [
    'E02',
    'a member without a leader, while another is silent',
    etcdFacts({
      members: [member(1, { leader: undefined }), { ...member(2), status: unknown('silent') }],
    }),
    'the members name none',
  ],
  [
    'E03',
    'many elections',
    etcdFacts({ members: [member(1, {}, { etcd_server_leader_changes_seen_total: 90 })] }),
    '90 in the 1d since its start',
  ],
  ['E04', 'a slow disk', etcdFacts({ members: [member(1, {}, slowDisk)] }), 'wal fsync 15.2 ms'],
  [
    'E05',
    'a database near its quota',
    etcdFacts({ members: [member(1, { dbSizeBytes: 1_900_000_000 })] }),
    '88 % of 2048 MiB',
  ],
  ['E06', 'an alarm', etcdFacts({ alarms: known(['NOSPACE on member a1']) }), 'NOSPACE'],
  ['E07', 'a key without a lease', etcdFacts({}, lockSample([lock('a', undefined)])), 'no lease'],
  ['E08', 'a short lease', etcdFacts({}, lockSample([leased(2000, 1000)])), 'granted 2s'],
  ['E08', 'a long lease', etcdFacts({}, lockSample([leased(600_000, 9000)])), 'granted 10m'],
  [
    'E08',
    'a default lease that nobody renews',
    etcdFacts({}, lockSample([leased(60_000, 9000)])),
    'not renewed for 51s',
  ],
  [
    'E09',
    'two keys on one lease',
    etcdFacts(
      { leaseKeys: known(new Map([[stringToText('2f'), ['a', 'b'].map(stringToText)]])) },
      lockSample([leased(10_000, 9000)]),
    ),
    'lease 2f has 2 keys',
  ],
  [
    'E10',
    'a lease that one member never had',
    etcdFacts({ members: [member(1), { ...member(2), leases: known([[], []]) }, member(3)] }),
    '1 not on every member, 1f among them',
  ],
  ['E11', 'clear text', etcdFacts({ encrypted: false }), 'clear text'],
  ['E11', 'nobody asked who they are', etcdFacts({ openToAll: known(true) }), 'neither users nor'],
  [
    'E12',
    'a role for every key',
    etcdFacts({ wideRoles: known([stringToText('app')]) }),
    'app may write every key',
  ],
  [
    'E13',
    'a member behind',
    etcdFacts({ members: [member(1, { behind: 1001n })] }),
    '1001 entries',
  ],
  [
    'E14',
    'two versions',
    etcdFacts({ members: [member(1), member(2, { version: stringToText('3.6.1') })] }),
    '3.5.17 and 3.6.1',
  ],
  [
    'E14',
    'an ended line',
    etcdFacts({ members: [member(1, { version: stringToText('3.4.23') })] }),
    '3.4.23',
  ],
  [
    'E15',
    'no history at all',
    etcdFacts({ members: [member(1, {}, { etcd_debugging_mvcc_compact_revision: 40 })] }),
    'compacted up to now',
  ],
  ['X03', 'an account that may write', etcdFacts({ mayWrite: known(true) }), '"auditor" may write'],
];

describe('every check of etcd', () => {
  test.each(ids.filter((id) => !declaredOnly.includes(id)))('%s passes on a sound one', (id) => {
    expect(judge(id, etcdFacts())).toMatchObject({ state: 'pass' });
  });

  test.each(failing)('%s fails on %s', (id, _title, of, found) => {
    const judgement = judge(id, of);
    expect(judgement.state).toBe('fail');
    expect(judgement.state === 'fail' && judgement.found).toContain(found);
    expect(judgement.evidence).not.toHaveLength(0);
  });

  test('has a failing case above, but for what no server tells', () => {
    expect(new Set([...failing.map(([id]) => id), ...declaredOnly])).toEqual(new Set(ids));
  });

  test.each(ids)('%s is unknown when everything was refused', (id) => {
    const hole = unknown('it was refused', 'needs it');
    const refused: Partial<EtcdFacts> = {
      peers: hole,
      members: [{ member: 'h:1', status: hole, metrics: hole, leases: hole }],
      alarms: hole,
      openToAll: hole,
      leaseKeys: hole,
      wideRoles: hole,
      account: hole,
      mayWrite: hole,
    };
    expect(judge(id, etcdFacts(refused, hole))).toMatchObject({ state: 'unknown' });
  });
});

describe('what was seen of a part', () => {
  test('passes no check that is about every member', () => {
    for (const id of ['E02', 'E10', 'E14']) {
      const judgement = judge(id, etcdFacts({ members: [member(1)] }));
      expect(judgement).toMatchObject({
        state: 'unknown',
        reason: 'the target names 1 of 3 members',
      });
    }
  });

  test('of the keys on leases is no pass', () => {
    const some = partial(new Map(), 'the keys of 3 of 9 leases were not read', 'needs more');
    const of = etcdFacts({ leaseKeys: some }, lockSample([leased(10_000, 9000)]));
    expect(judge('E09', of)).toMatchObject({ state: 'unknown', remedy: 'needs more' });
  });

  test('of the history is unknown, and says which revisions are kept', () => {
    const of = etcdFacts({
      members: [member(1, {}, { etcd_debugging_mvcc_compact_revision: 12 })],
    });
    const judgement = judge('E15', of);
    expect(judgement.state === 'unknown' && judgement.reason).toContain('revisions 12 to 40');
  });
});

test('a lease that came or went between two looks is no ghost', () => {
  const members = [member(1), { ...member(2), leases: known([['1f'], ['1f', '3f']]) }];
  const peers = known([peer('a1', false), peer('a2', false)]);
  expect(judge('E10', etcdFacts({ members, peers })).state).toBe('pass');
});

test('a check is about its own kind of service only', () => {
  expect(findCheck('R04').judge(etcdFacts(), { leaseMs: 10_000 })).toBeUndefined();
});
