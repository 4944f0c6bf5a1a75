import { expect, test } from 'vitest';
import type { ArmReport, CellReport } from '../../../src/domain/run-report.ts';
import { shortfallText } from '../../../src/reports/run-words.ts';

const arm = (shortfalls: number | undefined): ArmReport => ({
  arm: 'main',
  folder: '.',
  tookMs: 0,
  steps: [],
  faults: [],
  invariants: [],
  timeline: [],
  problems: [],
  schedulerLagMs: 0,
  shortfalls,
});

const cell = (main: ArmReport, control: ArmReport): CellReport => ({
  scenario: 's',
  title: 't',
  column: 'redis-wait',
  protocol: 'redis-wait',
  target: 'redis://h:1',
  round: 1,
  outcome: 'passed',
  problems: [],
  main,
  controls: [{ mutate: 'm', result: 'went-red', note: '', arm: control }],
});

test('operations that too few replicas confirmed are added up over a scenario and its controls', () => {
  expect(shortfallText(cell(arm(2), arm(3)))).toBe('5 operations');
  expect(shortfallText(cell(arm(0), arm(0)))).toBe('none');
});

test('a protocol that needs no replica counts none, which is not zero', () => {
  expect(shortfallText(cell(arm(undefined), arm(undefined)))).toBeUndefined();
});
