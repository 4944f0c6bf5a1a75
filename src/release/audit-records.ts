/**
 * The audit log as releases: each intent with the outcome that was recorded for it. Everything in
 * the file is escaped again, because anybody with write access may have put it there.
 */
import { z } from 'zod';
import type { AuditRecord } from '../domain/audit-record.ts';
import { parseText } from '../domain/text.ts';
import type { AuditLine } from './audit-log.ts';

const word = z.string().transform(parseText).optional().catch(undefined);
const holders = z.object({ value: z.array(z.object({ owner: z.string() })) });
const intentShape = z.object({
  user: word,
  host: word,
  target: word,
  expect: word,
  reason: word,
  holders: holders.optional().catch(undefined),
  overrides: z.record(z.string(), z.string().transform(parseText)).catch({}),
});

/** All releases that were begun, oldest first. */
export function auditRecords(lines: readonly AuditLine[]): readonly AuditRecord[] {
  const records: AuditRecord[] = [];
  for (const line of lines) {
    if (line.kind === 'intent') records.push(toRecord(line));
    else {
      const at = records.findLastIndex(
        (record) => record.outcome === undefined && answers(line, record),
      );
      const record = records[at];
      if (record === undefined) continue;
      records[at] = { ...record, outcome: parseText(line.outcome ?? 'unknown') };
    }
  }
  return records;
}

/** Older logs name the lock only: the last release of it that has no outcome yet is meant. */
function answers(outcome: AuditLine, record: AuditRecord): boolean {
  return outcome.intent === undefined
    ? parseText(outcome.lock) === record.lock
    : outcome.intent === record.place;
}

function toRecord(line: AuditLine): AuditRecord {
  const { holders: seen, overrides, ...words } = intentShape.parse(line);
  return {
    place: line.place,
    at: parseText(line.at),
    lock: parseText(line.lock),
    outcome: undefined,
    owners: (seen?.value ?? []).map(({ owner }) => parseText(owner)),
    user: words.user,
    host: words.host,
    target: words.target,
    expect: words.expect,
    reason: words.reason,
    overrides: Object.fromEntries(
      Object.entries(overrides).map(([guard, reason]) => [parseText(guard), reason]),
    ),
  };
}
