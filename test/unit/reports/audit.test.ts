import { describe, expect, test } from 'vitest';
import type { AuditReport, AuditResult, Judgement } from '../../../src/domain/audit-report.ts';
import { auditJson, auditJunit, auditMarkdown, renderAudit } from '../../../src/reports/audit.ts';
import { plainPaint } from '../../../src/reports/paint.ts';

function result(
  id: string,
  severity: AuditResult['severity'],
  judgement: Judgement,
  unknownAllowed = false,
): AuditResult {
  const about = { title: `title of ${id}`, why: 'because', fix: `mend ${id}` };
  return { id, severity, judgement, unknownAllowed, ...about };
}

const evidence = [{ command: 'CONFIG GET x', value: '<|y' }];
const report: AuditReport = {
  target: 'redis://h:1',
  server: 'h:1',
  at: '2026-12-01T10:00:00.000Z',
  failOn: 'med',
  verdict: 'failed',
  results: [
    result('A1', 'high', { state: 'pass', found: 'good', wanted: 'good', evidence }),
    result('A2', 'med', { state: 'unknown', reason: 'refused', remedy: 'needs +x', evidence: [] }),
    result('A3', 'med', { state: 'fail', found: '<|y', wanted: 'z', evidence }),
    result('A4', 'low', { state: 'fail', found: 'n', wanted: 'm', evidence }),
    result('A5', 'high', { state: 'not-applicable', reason: 'none there', evidence: [] }),
    result('A6', 'med', { state: 'unknown', reason: 'no', remedy: 'ask', evidence: [] }, true),
  ],
};

describe('an audit as a table', () => {
  const lines = renderAudit(report, plainPaint);

  test('tells failures first, each with its fix and what was seen, and counts last', () => {
    expect(lines).toEqual([
      'Audit of redis://h:1, h:1 at 2026-12-01T10:00:00.000Z',
      'FAIL  med   A3  title of A3  <|y, want z',
      '                 fix: mend A3',
      '                 seen: CONFIG GET x: <|y',
      'FAIL  low   A4  title of A4  n, want m',
      '                 fix: mend A4',
      '                 seen: CONFIG GET x: <|y',
      'UNKN  med   A2  title of A2  refused; needs +x',
      'UNKN  med   A6  title of A6  no; ask (allowed)',
      'pass  high  A1  title of A1  good',
      'n/a   high  A5  title of A5  none there',
      '1 passed · 2 failed · 2 unknown · 1 not applicable',
    ]);
  });
});

test('as JUnit only what decides the exit code is a failure or an error', () => {
  const xml = auditJunit(report);
  expect(xml).toContain('tests="6" failures="1" errors="1" skipped="3"');
  expect(xml).toContain('<failure message="FAIL: &lt;|y, want z">');
  expect(xml).toContain('name="A2 title of A2"><error ');
});

test('as Markdown nothing that a server said is markup', () => {
  const text = auditMarkdown(report);
  expect(text).toContain('# Audit of redis://h:1: failed');
  expect(text).toContain('| FAIL | med | A3 | title of A3 | \\<\\|y, want z |');
  expect(text).toContain('- A3: mend A3 (CONFIG GET x: \\<\\|y)');
});

test('as JSON each check has its state, evidence and fix', () => {
  expect(JSON.parse(auditJson(report))).toMatchObject({
    schemaVersion: 1,
    verdict: 'failed',
    checks: [
      { id: 'A1', state: 'pass' },
      { id: 'A2', state: 'unknown', remedy: 'needs +x' },
      { id: 'A3', state: 'fail', fix: 'mend A3', evidence },
      {},
      {},
      { unknownAllowed: true },
    ],
  });
});
