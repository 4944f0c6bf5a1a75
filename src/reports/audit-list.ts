/** Recorded releases as rows and as JSON. */
import type { AuditRecord } from '../domain/audit-record.ts';
import type { Paint } from './paint.ts';
import type { Column } from './table.ts';

export function auditColumns(paint: Paint): readonly Column<AuditRecord>[] {
  return [
    { title: 'LOG', cell: ({ place }) => place },
    { title: 'TIME', cell: ({ at }) => `${at.slice(11, 19)}Z` },
    { title: 'LOCK', cell: ({ lock }) => lock, shrinkTo: 12 },
    {
      title: 'OUTCOME',
      cell: ({ outcome }) => outcome ?? 'NOT RECORDED',
      paint: (text, { outcome }) =>
        outcome === 'released' || outcome === 'taken-over-by' ? paint.good(text) : paint.warn(text),
    },
    { title: 'WAS', cell: ({ owners }) => owners.join(', ') || '?', shrinkTo: 12 },
    { title: 'BY', cell: ({ user, host }) => `${user ?? '?'}@${host ?? '?'}`, shrinkTo: 8 },
    { title: 'REASON', cell: ({ reason }) => reason ?? 'none', shrinkTo: 8 },
  ];
}

/** Null stands for what the log does not say: an outcome that was never recorded is not known. */
export function auditRecordJson(record: AuditRecord): object {
  const { outcome, user, host, target, expect, reason, ...rest } = record;
  return {
    ...rest,
    outcome: outcome ?? null,
    user: user ?? null,
    host: host ?? null,
    target: target ?? null,
    expect: expect ?? null,
    reason: reason ?? null,
  };
}
