/** Checks of what keeps the writes of locks waiting, or refuses them: disk, quota, alarms. */
import type { EtcdCheck } from '../check.ts';
import { judgeBy, judgeEach, reading } from '../readings.ts';
import { metrics, statuses } from './readings.ts';

const disks = [
  { name: 'etcd_disk_wal_fsync_duration_seconds', words: 'wal fsync', mostMs: 10 },
  { name: 'etcd_disk_backend_commit_duration_seconds', words: 'backend commit', mostMs: 25 },
] as const;

export const diskLatency: EtcdCheck = {
  id: 'E04',
  title: 'speed of the disk',
  severity: 'high',
  reads: disks.map(({ name }) => `/metrics ${name}`),
  why: 'every grant and every new leader waits for the disk; behind a slow one keepalives come late',
  fix: 'a disk of its own, of SSD class; `etcdctl check perf` measures, on a quiet cluster only',
  judge: ({ server }) => {
    const wanted = 'p99 of wal fsync at most 10 ms, of backend commit 25 ms';
    const readings = disks.flatMap(({ name, words }) =>
      metrics(server, name, (values) => {
        const p99Ms = percentile99Ms(values, name);
        return p99Ms === undefined ? undefined : `${words} ${p99Ms} ms`;
      }),
    );
    return judgeEach(
      readings,
      (text) => {
        const ms = parseFloat(/[\d.]+ ms$/.exec(text)?.[0] ?? '');
        const most = disks.find(({ words }) => text.startsWith(words))?.mostMs ?? 0;
        return ms > most ? `p99 of ${text} since the start of the member` : undefined;
      },
      wanted,
    );
  },
};

/** Interpolated within its bucket, as Prometheus does; undefined before the first observation. */
function percentile99Ms(values: ReadonlyMap<string, number>, name: string): number | undefined {
  const total = values.get(`${name}_count`) ?? 0;
  if (total === 0) return undefined;
  const rank = total * 0.99;
  let [below, belowCount] = [0, 0];
  for (const [key, count] of values) {
    if (!key.startsWith(`${name}_bucket{le="`)) continue;
    const bound = Number(key.slice(`${name}_bucket{le="`.length, -2));
    if (!Number.isFinite(bound)) continue;
    if (count >= rank) {
      const share = (rank - belowCount) / Math.max(1, count - belowCount);
      return Math.round((below + (bound - below) * share) * 10_000) / 10;
    }
    [below, belowCount] = [bound, count];
  }
  // Beyond the last bound: at least that.
  return Math.round(below * 1000);
}

const fullShare = 0.8;
const quotaName = 'etcd_server_quota_backend_bytes';

export const databaseSize: EtcdCheck = {
  id: 'E05',
  title: 'size of the database',
  severity: 'high',
  reads: ['endpoint status of every member', `/metrics ${quotaName}`],
  why: 'at its quota the cluster raises NOSPACE and refuses every write: no lock is taken or renewed',
  fix: 'compact, then `etcdctl defrag` one member after the other; or raise --quota-backend-bytes',
  judge: ({ server }) =>
    judgeEach(
      metrics(server, quotaName, (values, { status }) => {
        const quota = values.get(quotaName);
        if (quota === undefined || quota <= 0 || status.kind === 'unknown') return undefined;
        const percent = Math.round((status.value.dbSizeBytes / quota) * 100);
        return `${percent} % of ${Math.round(quota / 1024 / 1024)} MiB`;
      }),
      (text) => (parseFloat(text) > fullShare * 100 ? text : undefined),
      `at most ${fullShare * 100} %`,
    ),
};

export const alarms: EtcdCheck = {
  id: 'E06',
  title: 'alarms',
  severity: 'crit',
  reads: ['alarm list'],
  why: 'an alarm means a database that is full or corrupt: writes are refused, or reads are wrong',
  fix: 'NOSPACE: compact, defrag, `etcdctl alarm disarm`. CORRUPT: replace that member from the others',
  judge: ({ server }) =>
    judgeBy(
      [reading('alarm list', server.alarms, (names) => names.join(', ') || 'none')],
      ([found = '']) => ({ ok: found === 'none', found, wanted: 'none' }),
    ),
};

const mostBehind = 1000;

export const applyLag: EtcdCheck = {
  id: 'E13',
  title: 'entries that wait to be applied',
  severity: 'med',
  reads: ['endpoint status of every member'],
  why: 'a member that applies slowly answers about locks late, and the leader slows everybody',
  fix: 'less load on that member: big ranges, many watchers; a faster disk (E04)',
  judge: ({ server }) =>
    judgeEach(
      statuses(server, ({ behind }) => `${behind} entries behind`),
      (text) => (parseInt(text, 10) > mostBehind ? text : undefined),
      `at most ${mostBehind}`,
    ),
};

export const keptHistory: EtcdCheck = {
  id: 'E15',
  title: 'kept history',
  severity: 'low',
  reads: ['/metrics etcd_debugging_mvcc_compact_revision, etcd_debugging_mvcc_current_revision'],
  why: 'who held a lock before can be told only as far back as the last compaction',
  fix: 'a longer --auto-compaction-retention, or keep a recording: fencepost watch --record FILE',
  judge: ({ server }) => {
    const name = 'etcd_debugging_mvcc_compact_revision';
    const readings = metrics(server, name, (values) => {
      const [from, to] = [name, 'etcd_debugging_mvcc_current_revision'].map((one) =>
        values.get(one),
      );
      return from === undefined || to === undefined ? undefined : `${from} to ${to}`;
    });
    return judgeBy(readings.slice(0, 1), ([text = '']) => {
      const [from = 0, to = 0] = text.split(' to ').map(Number);
      const wanted = 'revisions from before now';
      if (from <= 0) return { ok: true, found: 'never compacted', wanted };
      if (from >= to) return { ok: false, found: `compacted up to now, revision ${to}`, wanted };
      return {
        state: 'unknown',
        reason: `revisions ${text} are kept; etcd does not tell how long ago they were`,
        remedy: 'compare --auto-compaction-retention with how far back you want to look',
        evidence: [{ command: readings[0]?.command ?? name, value: text }],
      };
    });
  },
};
