/** Verdicts over histories: as a table with the shortest witnesses, as JSON and as JUnit XML. */
import type { JudgedHistory, JudgedResult } from '../domain/check-report.ts';
import type { Verdict } from '../domain/verdict.ts';
import { escapeXml, printable } from './escape.ts';
import { schemaVersion, toJsonText } from './json.ts';
import type { Paint } from './paint.ts';
import { verdictWords } from './run-words.ts';
import { ColumnLayout, type Column } from './table.ts';

/** Histories hold other programs' bytes: made harmless, on one line. */
function clean(text: string): string {
  return printable(text).replaceAll('\n', ' ');
}

interface Row {
  readonly invariant: string;
  readonly lock: string;
  readonly verdict: Verdict;
  readonly note: string;
}

/** Every line for a terminal, without line breaks. */
export function renderCheck(
  histories: readonly JudgedHistory[],
  paint: Paint,
  fitTo: number | undefined,
): readonly string[] {
  return histories.flatMap((history) => [
    ...(histories.length > 1 ? [paint.heading(clean(history.file))] : []),
    ...table(history, paint, fitTo),
    ...witnesses(history, paint),
    ...(histories.length > 1 ? [''] : []),
  ]);
}

function table(history: JudgedHistory, paint: Paint, fitTo: number | undefined): readonly string[] {
  const rows = rowsOf(history);
  const columns: readonly Column<Row>[] = [
    { title: 'INVARIANT', cell: ({ invariant }) => invariant },
    { title: 'LOCK', cell: ({ lock }) => lock, shrinkTo: 8 },
    {
      title: 'VERDICT',
      cell: ({ verdict }) => verdictWords[verdict],
      paint: (padded, { verdict }) => paintVerdict(padded, verdict, paint),
    },
    { title: 'NOTE', cell: ({ note }) => note },
  ];
  const layout = new ColumnLayout(columns, rows, fitTo);
  return [layout.heading(), ...rows.map((row) => layout.line(row))];
}

/** What was not exercised on many locks is one row an invariant. */
function rowsOf({ results, locks }: JudgedHistory): readonly Row[] {
  const rows: Row[] = [];
  const idle = new Map<string, number>();
  for (const { invariant, lock, verdict, note } of results) {
    if (verdict === 'not-exercised' && locks > 1) {
      idle.set(invariant, (idle.get(invariant) ?? 0) + 1);
    } else {
      rows.push({ invariant, lock: clean(lock ?? ''), verdict, note: clean(note) });
    }
  }
  for (const [invariant, amount] of idle) {
    const lock = `${amount} lock${amount === 1 ? '' : 's'}`;
    rows.push({ invariant, lock, verdict: 'not-exercised', note: '' });
  }
  return rows;
}

function paintVerdict(text: string, verdict: Verdict, paint: Paint): string {
  if (verdict === 'held') return paint.good(text);
  if (verdict === 'violated') return paint.bad(text);
  return verdict === 'inconclusive' ? paint.warn(text) : paint.faint(text);
}

function witnesses({ results }: JudgedHistory, paint: Paint): readonly string[] {
  return results
    .filter(({ verdict }) => verdict === 'violated')
    .flatMap(({ invariant, lock, witnessLines }) => [
      '',
      paint.heading(clean(lock === undefined ? invariant : `${invariant} of ${lock}`)),
      ...witnessLines.map((line) => `  ${clean(line)}`),
    ]);
}

/** JSON of all histories. */
export function checkJson(histories: readonly JudgedHistory[]): string {
  return toJsonText({ schemaVersion, histories });
}

/** One suite a history, one case a result. What was not named and not exercised is skipped. */
export function checkJunit(histories: readonly JudgedHistory[]): string {
  const all = histories.flatMap(({ results }) => results);
  const suites = histories.map(
    ({ file, results }) =>
      `  <testsuite name="${escapeXml(file)}" ${counts(results)}>\n${results.map((result) => caseXml(file, result)).join('')}  </testsuite>\n`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="fencepost check" ${counts(all)}>\n${suites.join('')}</testsuites>\n`;
}

function caseXml(file: string, result: JudgedResult): string {
  const { invariant, lock, note, witnessLines } = result;
  const name = lock === undefined ? invariant : `${invariant} of ${lock}`;
  const kind = problemOf(result);
  const head = `    <testcase classname="${escapeXml(file)}" name="${escapeXml(name)}"`;
  if (kind === undefined) return `${head}/>\n`;
  if (kind === 'skipped') return `${head}><skipped message="${escapeXml(note)}"/></testcase>\n`;
  const text = escapeXml([note, ...witnessLines].join('\n'));
  return `${head}><${kind} message="${verdictWords[result.verdict]}">${text}</${kind}></testcase>\n`;
}

function problemOf({ verdict, named }: JudgedResult): 'failure' | 'error' | 'skipped' | undefined {
  if (verdict === 'held') return undefined;
  if (verdict === 'violated') return 'failure';
  return verdict === 'not-exercised' && !named ? 'skipped' : 'error';
}

function counts(results: readonly JudgedResult[]): string {
  const count = (wanted: string): number =>
    results.filter((result) => problemOf(result) === wanted).length;
  return `tests="${results.length}" failures="${count('failure')}" errors="${count('error')}" skipped="${count('skipped')}"`;
}
