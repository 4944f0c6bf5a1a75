import { describe, expect, test } from 'vitest';
import {
  cellOutcome,
  controlProblems,
  joinOutcomes,
  judgeControl,
  runExitCode,
} from '../../../src/chaos/verdicts.ts';
import type { ArmReport, ControlReport, InvariantReport } from '../../../src/domain/run-report.ts';
import type { Verdict } from '../../../src/domain/verdict.ts';

function invariant(verdict: Verdict, expected: Verdict = 'held'): InvariantReport {
  return {
    invariant: 'no-stale-write-accepted',
    verdict,
    expected,
    reportOnly: false,
    exercised: 1,
    note: 'as the judge said',
    witness: [],
    witnessLines: [],
  };
}

function arm(...invariants: readonly InvariantReport[]): ArmReport {
  return {
    arm: 'main',
    folder: '.',
    tookMs: 1,
    steps: [],
    faults: [],
    invariants,
    timeline: [],
    problems: [],
    schedulerLagMs: 0,
  };
}

const red: ControlReport = { mutate: 'resource-accepts-any', result: 'went-red', note: '' };

describe('the outcome of a cell', () => {
  test('is a pass only when every invariant held and nothing is missing', () => {
    expect(cellOutcome(arm(invariant('held')), [])).toBe('passed');
    expect(cellOutcome(arm(invariant('held')), ['the pause is not proven'])).toBe('inconclusive');
    expect(cellOutcome(arm(invariant('not-exercised')), [])).toBe('inconclusive');
    expect(cellOutcome(arm(invariant('inconclusive')), [])).toBe('inconclusive');
  });

  test('is a failure for a violation, also when evidence is missing', () => {
    expect(cellOutcome(arm(invariant('violated')), ['a fault is not proven'])).toBe('failed');
  });

  test('turns round for a protocol known to break', () => {
    expect(cellOutcome(arm(invariant('violated', 'violated')), [])).toBe('passed');
    expect(cellOutcome(arm(invariant('held', 'violated')), [])).toBe('failed');
    expect(cellOutcome(arm(invariant('inconclusive', 'violated')), [])).toBe('inconclusive');
  });

  test('does not count what is for the report only', () => {
    const told = { ...invariant('violated'), reportOnly: true };
    expect(cellOutcome(arm(invariant('held'), told), [])).toBe('passed');
  });
});

describe('controls', () => {
  const spec = {
    mutate: 'resource-accepts-any',
    expect: { 'no-stale-write-accepted': 'violated' },
  } as const;

  test('are red by the name they declared, or the judge saw nothing', () => {
    expect(judgeControl(spec, arm(invariant('violated'))).result).toBe('went-red');
    expect(judgeControl(spec, arm(invariant('held'))).result).toBe('stayed-green');
    expect(judgeControl(spec, arm(invariant('inconclusive'))).result).toBe('inconclusive');
    const other = { ...invariant('violated'), invariant: 'takeover' };
    expect(judgeControl(spec, arm(other)).result).toBe('inconclusive');
  });

  test('must show one red in every cell', () => {
    const prevented: ControlReport = { mutate: 'x', result: 'prevented', note: 'own node' };
    const main = arm(invariant('held'));
    expect(controlProblems(main, [red, prevented])).toEqual([]);
    expect(controlProblems(main, [prevented])).toHaveLength(1);
    expect(controlProblems(main, [])).toHaveLength(1);
    expect(controlProblems(main, [red, { ...red, result: 'stayed-green' }])).toHaveLength(1);
    expect(controlProblems(main, [{ ...red, result: 'not-run' }])).toHaveLength(1);
  });

  test('are not needed where an expected violation was found', () => {
    expect(controlProblems(arm(invariant('violated', 'violated')), [])).toEqual([]);
  });
});

describe('the exit code', () => {
  test('follows violated before undo before unreachable before inconclusive', () => {
    expect(runExitCode('failed', true)).toBe(1);
    expect(runExitCode('interrupted', true)).toBe(7);
    expect(runExitCode('unreachable', true)).toBe(7);
    expect(runExitCode('unreachable', false)).toBe(4);
    expect(runExitCode('inconclusive', false)).toBe(3);
    expect(runExitCode('interrupted', false)).toBe(130);
    expect(runExitCode('passed', false)).toBe(0);
    expect(runExitCode('passed', true)).toBe(7);
  });

  test('is never a pass when nothing ran', () => {
    expect(joinOutcomes([])).toBe('inconclusive');
    expect(joinOutcomes([{ outcome: 'passed' }, { outcome: 'inconclusive' }])).toBe('inconclusive');
    expect(joinOutcomes([{ outcome: 'unreachable' }, { outcome: 'failed' }])).toBe('failed');
  });
});
