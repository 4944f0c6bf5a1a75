/**
 * A run as JUnit XML: one suite a cell, one case an invariant, fault and control. What is not proven
 * is an error, so that no CI reads it as a pass.
 */
import type { CellReport, RunReport } from '../domain/run-report.ts';
import { escapeXml } from './escape.ts';
import { cellName, controlText, verdictText } from './run-words.ts';

interface Case {
  readonly name: string;
  readonly problem:
    | { readonly kind: 'failure' | 'error'; readonly message: string; readonly text: string }
    | undefined;
}

export function renderJunit(report: RunReport): string {
  const suites = report.cells.map((cell) => suite(cell, cellName(cell, report)));
  const cases = report.cells.flatMap(casesOf);
  const head = `name="fencepost" ${counts(cases)} time="${seconds(report.tookMs)}"`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${head}>\n${suites.join('')}</testsuites>\n`;
}

function suite(cell: CellReport, name: string): string {
  const cases = casesOf(cell);
  const time = seconds(cell.main?.tookMs ?? 0);
  const lines = cases.map(
    ({ name: title, problem }) =>
      `    <testcase classname="${escapeXml(name)}" name="${escapeXml(title)}"${problem === undefined ? '/>' : `>${problemXml(problem)}</testcase>`}\n`,
  );
  return `  <testsuite name="${escapeXml(name)}" ${counts(cases)} time="${time}">\n${lines.join('')}  </testsuite>\n`;
}

function problemXml({ kind, message, text }: NonNullable<Case['problem']>): string {
  return `<${kind} message="${escapeXml(message)}">${escapeXml(text)}</${kind}>`;
}

function counts(cases: readonly Case[]): string {
  const count = (kind: 'failure' | 'error'): number =>
    cases.filter(({ problem }) => problem?.kind === kind).length;
  return `tests="${cases.length}" failures="${count('failure')}" errors="${count('error')}"`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function casesOf(cell: CellReport): readonly Case[] {
  return [
    ...(cell.main?.invariants ?? []).filter(({ reportOnly }) => !reportOnly).map(invariantCase),
    ...(cell.main?.faults ?? []).map(faultCase),
    ...cell.controls.map(controlCase),
    ...evidenceCases(cell),
  ];
}

function invariantCase(invariant: NonNullable<CellReport['main']>['invariants'][number]): Case {
  const { verdict, expected, note, witnessLines } = invariant;
  const name = `invariant ${invariant.invariant}`;
  if (verdict === expected) return { name, problem: undefined };
  const proven = verdict === 'violated' || verdict === 'held';
  return {
    name,
    problem: {
      kind: proven ? 'failure' : 'error',
      message: verdictText(invariant),
      text: [note, ...witnessLines].join('\n'),
    },
  };
}

function faultCase(fault: NonNullable<CellReport['main']>['faults'][number]): Case {
  const name = `fault ${fault.fault} of ${fault.target}`;
  if (fault.proven) return { name, problem: undefined };
  const text = fault.evidence
    .filter(({ holds }) => !holds)
    .map(({ source, fact }) => `${source}: ${fact}`)
    .join('\n');
  return { name, problem: { kind: 'error', message: 'the fault is not proven', text } };
}

function controlCase(control: CellReport['controls'][number]): Case {
  const name = `control ${control.mutate}`;
  if (control.result === 'went-red' || control.result === 'prevented') {
    return { name, problem: undefined };
  }
  return { name, problem: { kind: 'error', message: controlText(control), text: control.note } };
}

/** What the cases above do not say, in one more. */
function evidenceCases({ problems, outcome }: CellReport): readonly Case[] {
  const name = 'evidence';
  if (outcome === 'passed' || problems.length === 0) return [{ name, problem: undefined }];
  const text = problems.join('\n');
  return [{ name, problem: { kind: 'error', message: `the run is ${outcome}`, text } }];
}
