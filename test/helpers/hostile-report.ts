/** A report in which every text is an attack on whoever renders it. */
import type { RunReport } from '../../src/domain/run-report.ts';

/** What a server, a worker or a scenario might say to take over a report. */
export const hostileText = `<script>alert(1)</script>&"'\u001b[31m | \u0000 ]]>`;
const hostile = hostileText;

/** A failed run with that text wherever text can stand. */
export const hostileReport: RunReport = {
  schemaVersion: 1,
  runId: 'r1',
  tool: '0.1.0',
  startedAt: '2026-02-01T00:00:00.000Z',
  tookMs: 5100,
  seed: '7',
  planHash: 'ab',
  outcome: 'failed',
  exitCode: 1,
  undoFailed: false,
  cells: [
    {
      scenario: 's',
      title: hostile,
      column: 'redis',
      protocol: 'redis-fenced',
      target: 'redis://127.0.0.1:1',
      round: 1,
      outcome: 'failed',
      problems: [hostile],
      main: {
        arm: 'main',
        folder: '.',
        tookMs: 5000,
        steps: [{ id: 's', line: 1, text: hostile, status: 'failed', note: hostile }],
        faults: [
          {
            id: 'A-pause',
            fault: 'pause',
            target: 'A',
            beganAtMs: 1,
            endedAtMs: 2,
            proven: false,
            evidence: [{ source: '/proc', fact: hostile, proves: 'stopped', holds: false }],
          },
        ],
        invariants: [
          {
            invariant: 'no-stale-write-accepted',
            verdict: 'violated',
            expected: 'held',
            reportOnly: false,
            exercised: 1,
            note: hostile,
            witness: [3, 9],
            witnessLines: ['1.00 s  B writes', hostile],
          },
        ],
        timeline: [{ atMs: 10, text: 'A acquires', result: hostile, tone: 'plain' }],
        problems: [hostile],
        schedulerLagMs: 3,
      },
      controls: [{ mutate: 'resource-accepts-any', result: 'stayed-green', note: hostile }],
    },
  ],
};
