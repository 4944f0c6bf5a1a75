/** A finished run on a terminal: timeline, table of verdicts, and what is missing for a pass. */
import type {
  CellReport,
  InvariantReport,
  RunReport,
  TimelineEntry,
} from '../domain/run-report.ts';
import { printable } from './escape.ts';
import type { Paint } from './paint.ts';
import {
  byScenario,
  cellName,
  controlText,
  controlTone,
  invariantTone,
  notPassed,
  shortfallText,
  summaryText,
  unexpected,
  verdictText,
  type Tone,
} from './run-words.ts';
import { displayWidth, padCells } from './width.ts';

/** Every line of the report, without line breaks. */
export function renderRun(report: RunReport, paint: Paint): readonly string[] {
  const lines: string[] = [];
  for (const cells of byScenario(report).values())
    lines.push(...scenarioLines(cells, report, paint));
  lines.push(...problemLines(report, paint));
  const summary = summaryText(report);
  lines.push(report.outcome === 'passed' ? paint.good(summary) : paint.bad(summary));
  return lines;
}

/** Notes may quote servers, workers and libraries: made harmless, on one line. */
function clean(text: string): string {
  return printable(text).replaceAll('\n', ' ');
}

function scenarioLines(
  cells: readonly CellReport[],
  report: RunReport,
  paint: Paint,
): readonly string[] {
  const [first] = cells;
  if (first === undefined) return [];
  const title = clean(`${first.scenario}: ${first.title}`);
  const told = cells.filter((cell) => cell === first || cell.outcome !== 'passed');
  return [
    `${paint.heading(title)}   ${paint.faint(`seed ${clean(report.seed)}`)}`,
    '',
    ...told.flatMap((cell) => withGap(timelineLines(cell, paint))),
    ...withGap(verdictTable(cells, paint)),
    ...withGap(reasonLines(first, paint)),
  ];
}

function withGap(lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [...lines, ''];
}

function timelineLines(cell: CellReport, paint: Paint): readonly string[] {
  const entries = cell.main?.timeline ?? [];
  const name = padCells(cell.column, 9);
  const blank = ' '.repeat(displayWidth(name));
  const width = Math.max(22, ...entries.map(({ text }) => displayWidth(text)));
  return entries.map((entry, index) => {
    const at = (entry.atMs / 1000).toFixed(2).padStart(6);
    const text = padCells(clean(entry.text), width);
    return `  ${index === 0 ? name : blank}${at} ${text}  ${resultText(entry, paint)}`.trimEnd();
  });
}

function resultText({ tone, result: raw }: TimelineEntry, paint: Paint): string {
  const result = clean(raw);
  switch (tone) {
    case 'plain':
      return result;
    case 'fault':
      return paint.faint(result);
    case 'refused':
      return `REFUSED ${result}`;
    case 'bad':
      return paint.bad(result);
  }
}

/** Why the scenario expects something else than `held`. */
function reasonLines({ main }: CellReport, paint: Paint): readonly string[] {
  return (main?.invariants ?? []).flatMap((one) =>
    one.because === undefined
      ? []
      : [paint.faint(clean(`  ${one.invariant} is expected ${one.expected}: ${one.because}`))],
  );
}

interface Row {
  readonly title: string;
  readonly cells: readonly { readonly text: string; readonly tone: Tone }[];
}

function verdictTable(cells: readonly CellReport[], paint: Paint): readonly string[] {
  const rows = [...invariantRows(cells), ...controlRows(cells), ...shortfallRow(cells)];
  const heads = cells.map((cell) =>
    cell.round > 1 ? `${cell.column} ${cell.round}` : cell.column,
  );
  if (rows.length === 0) return [];
  const first = Math.max(...rows.map(({ title }) => displayWidth(title)), 0);
  const widths = heads.map((head, at) =>
    Math.max(displayWidth(head), ...rows.map((row) => displayWidth(row.cells[at]?.text ?? ''))),
  );
  const heading = heads.map((head, at) => padCells(head, widths[at] ?? 0)).join('  ');
  return [
    `  ${' '.repeat(first)}  ${heading}`.trimEnd(),
    ...rows.map(({ title, cells: texts }) => {
      const line = texts.map(({ text, tone }, at) => paint[tone](padCells(text, widths[at] ?? 0)));
      return `  ${padCells(title, first)}  ${line.join('  ')}`.trimEnd();
    }),
  ];
}

function invariantRows(cells: readonly CellReport[]): readonly Row[] {
  const titles = new Map(
    cells.flatMap(({ main }) => main?.invariants ?? []).map((one) => [one.invariant, titleOf(one)]),
  );
  return [...titles].map(([name, title]) => ({
    title,
    cells: cells.map(({ main, outcome }) => {
      const found = main?.invariants.find(({ invariant }) => invariant === name);
      if (found === undefined) return { text: outcome, tone: 'warn' };
      return { text: verdictText(found), tone: invariantTone(found) };
    }),
  }));
}

function titleOf({ invariant, bound }: InvariantReport): string {
  return clean(invariant.replace(':', ' ') + (bound === undefined ? '' : ` within ${bound}`));
}

function controlRows(cells: readonly CellReport[]): readonly Row[] {
  const names = new Set(cells.flatMap(({ controls }) => controls.map(({ mutate }) => mutate)));
  return [...names].map((name) => ({
    title: clean(`control ${name}`),
    cells: cells.map(({ controls }) => {
      const found = controls.find(({ mutate }) => mutate === name);
      if (found === undefined) return { text: 'not run', tone: 'warn' };
      return { text: controlText(found), tone: controlTone(found) };
    }),
  }));
}

function shortfallRow(cells: readonly CellReport[]): readonly Row[] {
  const texts = cells.map(shortfallText);
  if (texts.every((text) => text === undefined)) return [];
  const row = texts.map((text): Row['cells'][number] => ({
    text: text ?? '-',
    tone: text === undefined || text === 'none' ? 'good' : 'warn',
  }));
  return [{ title: 'too few replicas confirmed (WAIT)', cells: row }];
}

/** Witness of each violation, and everything that stands between a cell and a pass. */
function problemLines(report: RunReport, paint: Paint): readonly string[] {
  return notPassed(report).flatMap((cell) => [
    paint.heading(cellName(cell, report)),
    ...unexpected(cell).flatMap((invariant) => [
      clean(`  ${invariant.invariant}: ${verdictText(invariant)}: ${invariant.note}`),
      ...invariant.witnessLines.map((line) => clean(`      ${line}`)),
    ]),
    ...cell.problems.map((problem) => clean(`  ${problem}`)),
    '',
  ]);
}
