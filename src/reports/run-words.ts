/** The words in which runs are told, the same on the terminal, in Markdown and in JUnit. */
import type {
  CellReport,
  ControlReport,
  InvariantReport,
  RunReport,
} from '../domain/run-report.ts';
import type { Verdict } from '../domain/verdict.ts';

export const verdictWords: Readonly<Record<Verdict, string>> = {
  held: 'held',
  violated: 'VIOLATED',
  'not-exercised': 'not exercised',
  inconclusive: 'inconclusive',
};

/** `held`, `violated, as expected`, `held, expected violated` … */
export function verdictText({ verdict, expected, reportOnly }: InvariantReport): string {
  const word = verdictWords[verdict];
  if (reportOnly) return `${word.toLowerCase()} (report only)`;
  if (verdict === expected) return expected === 'held' ? word : `${verdict}, as expected`;
  return expected === 'held' ? word : `${word}, expected ${expected}`;
}

const controlWords: Readonly<Record<ControlReport['result'], string>> = {
  'went-red': 'went red',
  'stayed-green': 'STAYED GREEN',
  prevented: 'prevented by layout',
  'not-run': 'not run',
  inconclusive: 'inconclusive',
};

export function controlText({ result }: ControlReport): string {
  return controlWords[result];
}

export type Tone = 'good' | 'warn' | 'bad';

export function invariantTone({ verdict, expected, reportOnly }: InvariantReport): Tone {
  if (reportOnly || verdict === expected) return 'good';
  return verdict === 'violated' || verdict === 'held' ? 'bad' : 'warn';
}

export function controlTone({ result }: ControlReport): Tone {
  return result === 'went-red' || result === 'prevented' ? 'good' : 'bad';
}

/** `paused-holder-resumes on redis`, with the round where there are several, and the seed it had alone. */
export function cellName(cell: CellReport, report: RunReport): string {
  const rounds = report.cells.some(({ round }) => round > 1);
  const seed = cell.seed === undefined ? '' : `, seed ${cell.seed}`;
  return `${cell.scenario} on ${cell.column}${rounds ? `, round ${cell.round}` : ''}${seed}`;
}

/** The last line of every report. */
export function summaryText(report: RunReport): string {
  const runs = `${report.cells.length} ${report.cells.length === 1 ? 'run' : 'runs'}`;
  const undo = report.undoFailed ? ' · something was not undone: fencepost heal' : '';
  const seconds = (report.tookMs / 1000).toFixed(1);
  return `${outcomeText(report)} · ${runs} · ${seconds} s${undo}`;
}

function outcomeText(report: RunReport): string {
  switch (report.outcome) {
    case 'passed':
      return 'every invariant as expected · every fault proven';
    case 'failed':
      return 'AN INVARIANT WAS VIOLATED';
    case 'inconclusive':
      return 'INCONCLUSIVE: something is not proven';
    case 'unreachable':
      return 'the target could not be reached';
    case 'interrupted':
      return 'interrupted; everything was undone';
  }
}

/** Columns or rounds that did not pass, and whose story must be told. */
export function notPassed(report: RunReport): readonly CellReport[] {
  return report.cells.filter(({ outcome }) => outcome !== 'passed');
}

/** Invariants of a cell that came out otherwise than expected. */
export function unexpected(cell: CellReport): readonly InvariantReport[] {
  return (cell.main?.invariants ?? []).filter(
    ({ reportOnly, verdict, expected }) => !reportOnly && verdict !== expected,
  );
}

/** Cells of one scenario, in the order of the run. */
export function byScenario(report: RunReport): ReadonlyMap<string, readonly CellReport[]> {
  const groups = new Map<string, CellReport[]>();
  for (const cell of report.cells) {
    const group = groups.get(cell.scenario);
    if (group === undefined) groups.set(cell.scenario, [cell]);
    else group.push(cell);
  }
  return groups;
}

/** How often too few replicas confirmed, in the scenario and its controls; undefined: none need. */
export function shortfallText({ main, controls }: CellReport): string | undefined {
  const counts = [main, ...controls.map(({ arm }) => arm)].flatMap((arm) => arm?.shortfalls ?? []);
  if (counts.length === 0) return undefined;
  const total = counts.reduce((sum, one) => sum + one, 0);
  return total === 0 ? 'none' : `${total} operations`;
}
