/** Verdicts of one arm against what the scenario expects, and how arms join to a cell's outcome. Pure. */
import type {
  ArmReport,
  CellReport,
  ControlReport,
  InvariantReport,
  RunOutcome,
} from '../domain/run-report.ts';
import type { ControlSpec, InvariantSpec, Scenario } from '../domain/scenario.ts';
import { formatSpan } from '../domain/span.ts';
import { joinVerdicts, type CheckResult } from '../domain/verdict.ts';
import { exitCodes, type ExitCode } from '../domain/errors.ts';
import { invariantId } from './scenario-invariants.ts';

/** One report per invariant of the scenario, in its order. */
export function invariantReports(
  scenario: Scenario,
  results: readonly CheckResult[],
  describe: (seq: number) => string,
): readonly InvariantReport[] {
  const toReport = (spec: InvariantSpec, reportOnly: boolean): InvariantReport => {
    const invariant = invariantId(spec);
    const mine = results.filter((result) => result.invariant === invariant);
    const verdict = joinVerdicts(mine.map((result) => result.verdict));
    const worst = mine.find((result) => result.verdict === verdict);
    const witness = worst?.witness ?? [];
    return {
      invariant,
      bound: spec.within === undefined ? undefined : formatSpan(spec.within),
      verdict,
      expected: scenario.expect[invariant] ?? 'held',
      because: scenario.reasons[invariant],
      reportOnly,
      exercised: mine.reduce((sum, { exercised }) => sum + exercised, 0),
      note: worst?.note ?? 'the judge gave no result',
      witness,
      witnessLines: witness.map(describe),
    };
  };
  return [
    ...scenario.invariants.map((spec) => toReport(spec, false)),
    ...scenario.reportOnly.map((spec) => toReport(spec, true)),
  ];
}

/** Whether a control showed what it was declared to show. */
export function judgeControl(control: ControlSpec, arm: ArmReport): ControlReport {
  const missed = Object.entries(control.expect).flatMap(([name, expected]) => {
    const found = arm.invariants.find(({ invariant }) => invariant === name);
    return found?.verdict === expected ? [] : [{ name, expected, found }];
  });
  const [first] = missed;
  const { mutate } = control;
  if (first === undefined) {
    const names = Object.keys(control.expect).join(', ');
    return { mutate, result: 'went-red', note: names, arm };
  }
  const { name, expected, found } = first;
  const verdict = found?.verdict ?? 'inconclusive';
  const result = verdict === 'held' ? 'stayed-green' : 'inconclusive';
  const why = [found?.note, ...(verdict === 'held' ? [] : arm.problems)].slice(0, 2).join('; ');
  return { mutate, result, note: `${name} is ${verdict}, not ${expected}: ${why}`, arm };
}

/** Why the controls do not show that the judge can see a violation; empty when they do. */
export function controlProblems(
  main: ArmReport | undefined,
  controls: readonly ControlReport[],
): readonly string[] {
  const broken = controls
    .filter(({ result }) => result !== 'went-red' && result !== 'prevented')
    .map(({ mutate, result, note }) => `control ${mutate} ${controlWords[result]}: ${note}`);
  const red = controls.some(({ result }) => result === 'went-red');
  // A violation that was expected and found shows the same.
  const seen = main?.invariants.some(
    ({ verdict, expected }) => verdict === 'violated' && expected === 'violated',
  );
  if (red || seen === true || broken.length > 0) return broken;
  return ['no control went red: nothing shows that a violation would be seen'];
}

/** How a control's result is said. */
export const controlWords: Readonly<Record<ControlReport['result'], string>> = {
  'went-red': 'went red',
  'stayed-green': 'stayed green',
  prevented: 'prevented by layout',
  'not-run': 'was not run',
  inconclusive: 'is inconclusive',
};

/** Outcome of one cell: a proven violation counts more than missing evidence. */
export function cellOutcome(main: ArmReport, problems: readonly string[]): RunOutcome {
  const named = main.invariants.filter(({ reportOnly }) => !reportOnly);
  if (named.some(isFailure)) return 'failed';
  const off = named.some(({ verdict, expected }) => verdict !== expected);
  return off || problems.length > 0 ? 'inconclusive' : 'passed';
}

/** Violated although it should hold, or held although it is known to break. */
export function isFailure({ verdict, expected }: InvariantReport): boolean {
  return verdict !== expected && (verdict === 'violated' || expected === 'violated')
    ? verdict === 'violated' || verdict === 'held'
    : false;
}

const severity: readonly RunOutcome[] = [
  'interrupted',
  'failed',
  'unreachable',
  'inconclusive',
  'passed',
];

/** The worst outcome; `inconclusive` when nothing ran. */
export function joinOutcomes(cells: readonly Pick<CellReport, 'outcome'>[]): RunOutcome {
  return (
    severity.find((outcome) => cells.some((cell) => cell.outcome === outcome)) ?? 'inconclusive'
  );
}

/** Exit code by design: 1 beats 7, 7 beats 4, 4 beats 3; an interrupted run that left something is 7. */
export function runExitCode(outcome: RunOutcome, undoFailed: boolean): ExitCode {
  if (outcome === 'failed') return exitCodes.violated;
  if (undoFailed) return exitCodes.undo;
  if (outcome === 'interrupted') return exitCodes.interrupted;
  if (outcome === 'unreachable') return exitCodes.target;
  return outcome === 'passed' ? exitCodes.ok : exitCodes.inconclusive;
}
