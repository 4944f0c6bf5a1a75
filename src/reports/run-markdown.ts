/** A run as Markdown, for pull requests and tickets. */
import type { CellReport, RunReport } from '../domain/run-report.ts';
import { escapeMarkdown } from './escape.ts';
import { cellName, controlText, shortfallText, summaryText, verdictText } from './run-words.ts';

export function renderMarkdown(report: RunReport): string {
  const cells = report.cells.map((cell) => cellText(cell, report));
  const about = `Run ${report.runId}, seed ${report.seed}, fencepost ${report.tool}.`;
  return `# ${escapeMarkdown(summaryText(report))}\n\n${escapeMarkdown(about)}\n\n${cells.join('\n')}`;
}

function cellText(cell: CellReport, report: RunReport): string {
  const shortfalls = shortfallText(cell);
  const rows = [
    ...(cell.main?.invariants ?? []).map((one) => [
      one.invariant,
      verdictText(one),
      one.because ?? one.note,
    ]),
    ...cell.controls.map((one) => [`control ${one.mutate}`, controlText(one), one.note]),
    ...(shortfalls === undefined ? [] : [['too few replicas confirmed (WAIT)', shortfalls, '']]),
  ];
  const faults = (cell.main?.faults ?? []).flatMap(({ fault, target, proven, evidence }) => [
    `- ${escapeMarkdown(`${fault} of ${target}: ${proven ? 'proven' : 'NOT PROVEN'}`)}`,
    ...evidence.map(
      ({ source, fact, holds }) =>
        `  - ${escapeMarkdown(`${holds ? '' : 'does not hold: '}${source}: ${fact}`)}`,
    ),
  ]);
  const problems = cell.problems.map((problem) => `- ${escapeMarkdown(problem)}`);
  return [
    `## ${escapeMarkdown(cellName(cell, report))}: ${cell.outcome}`,
    '',
    escapeMarkdown(cell.title),
    '',
    ...(rows.length === 0 ? [] : ['| | verdict | |', '| --- | --- | --- |']),
    ...rows.map((row) => `| ${row.map(escapeMarkdown).join(' | ')} |`),
    ...section('Faults', faults),
    ...section('What is missing', problems),
    '',
  ].join('\n');
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', `### ${title}`, '', ...lines];
}
