/** An audit as a table, JSON, Markdown and JUnit XML: failures first, each with its fix; nothing hidden. */
import {
  severities,
  type AuditReport,
  type AuditResult,
  type CheckDescription,
  type Judgement,
} from '../domain/audit-report.ts';
import { escapeMarkdown, escapeXml, printable } from './escape.ts';
import { schemaVersion, toJsonText } from './json.ts';
import type { Paint } from './paint.ts';
import { ColumnLayout, type Column } from './table.ts';

type State = Judgement['state'];

const stateWords: Readonly<Record<State, string>> = {
  fail: 'FAIL',
  unknown: 'UNKN',
  'not-applicable': 'n/a',
  pass: 'pass',
};
/** What somebody must act on comes first. */
const stateOrder: readonly State[] = ['fail', 'unknown', 'pass', 'not-applicable'];

/** Every line for a terminal, without line breaks; the first says whom and when, the last counts. */
export function renderAudit(report: AuditReport, paint: Paint): readonly string[] {
  const results = sorted(report.results);
  const columns: readonly Column<AuditResult>[] = [
    {
      title: '',
      cell: ({ judgement }) => stateWords[judgement.state],
      paint: (padded, { judgement }) => paintState(padded, judgement.state, paint),
    },
    { title: '', cell: ({ severity }) => severity },
    { title: '', cell: ({ id }) => id },
    { title: '', cell: ({ title }) => title },
    { title: '', cell: (result) => findingText(result) },
  ];
  const layout = new ColumnLayout(columns, results);
  return [
    paint.heading(`Audit of ${report.target}, ${report.server} at ${report.at}`),
    ...results.flatMap((result) => [layout.line(result), ...failureLines(result)]),
    countsText(report),
  ];
}

function failureLines({ judgement, fix }: AuditResult): readonly string[] {
  if (judgement.state !== 'fail') return [];
  const indent = ' '.repeat('FAIL  high  R04  '.length);
  return [`${indent}fix: ${fix}`, `${indent}seen: ${evidenceText(judgement)}`];
}

function paintState(text: string, state: State, paint: Paint): string {
  if (state === 'pass') return paint.good(text);
  if (state === 'fail') return paint.bad(text);
  return state === 'unknown' ? paint.warn(text) : paint.faint(text);
}

/** Fails before unknowns, each from the most severe down; the registry's order otherwise. */
function sorted(results: readonly AuditResult[]): readonly AuditResult[] {
  const rank = ({ judgement, severity }: AuditResult): number =>
    stateOrder.indexOf(judgement.state) * severities.length - severities.indexOf(severity);
  return [...results].sort((a, b) => rank(a) - rank(b));
}

function findingText({ judgement, unknownAllowed }: AuditResult): string {
  switch (judgement.state) {
    case 'pass':
      return clean(judgement.found);
    case 'fail':
      return clean(`${judgement.found}, want ${judgement.wanted}`);
    case 'unknown': {
      const allowed = unknownAllowed ? ' (allowed)' : '';
      return clean(`${judgement.reason}; ${judgement.remedy}${allowed}`);
    }
    case 'not-applicable':
      return clean(judgement.reason);
  }
}

function evidenceText({ evidence }: Judgement): string {
  return clean(evidence.map(({ command, value }) => `${command}: ${value}`).join(' · '));
}

/** On one line, and harmless. */
function clean(text: string): string {
  return printable(text).replaceAll('\n', ' ');
}

function countsText({ results }: AuditReport): string {
  const count = (state: State): number =>
    results.filter(({ judgement }) => judgement.state === state).length;
  return [
    `${count('pass')} passed`,
    `${count('fail')} failed`,
    `${count('unknown')} unknown`,
    `${count('not-applicable')} not applicable`,
  ].join(' · ');
}

export function auditJson({ results, ...head }: AuditReport): string {
  const checks = results.map(({ judgement, ...check }) => ({ ...check, ...judgement }));
  return toJsonText({ schemaVersion, ...head, checks });
}

/** For pull requests and tickets. */
export function auditMarkdown(report: AuditReport): string {
  const results = sorted(report.results);
  const rows = results.map((result) =>
    [stateWords[result.judgement.state], result.severity, result.id, result.title].concat(
      findingText(result),
    ),
  );
  const fixes = results.flatMap(({ id, fix, judgement }) =>
    judgement.state === 'fail'
      ? [`- ${id}: ${escapeMarkdown(`${fix} (${evidenceText(judgement)})`)}`]
      : [],
  );
  return [
    `# Audit of ${escapeMarkdown(report.target)}: ${report.verdict}`,
    '',
    escapeMarkdown(`${countsText(report)}. Asked ${report.server} at ${report.at}.`),
    '',
    '| | severity | check | | found |',
    '| --- | --- | --- | --- | --- |',
    ...rows.map((row) => `| ${row.map(escapeMarkdown).join(' | ')} |`),
    ...(fixes.length === 0 ? [] : ['', '## What to do', '', ...fixes]),
    '',
  ].join('\n');
}

/** One case a check. What does not decide the exit code is skipped, with its finding. */
export function auditJunit(report: AuditReport): string {
  const kinds = report.results.map((result) => problemOf(result, report));
  const count = (wanted: string): number => kinds.filter((kind) => kind === wanted).length;
  const counts = `tests="${kinds.length}" failures="${count('failure')}" errors="${count('error')}" skipped="${count('skipped')}"`;
  const cases = report.results.map((result, at) => caseXml(result, kinds[at]));
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="fencepost audit" ${counts}>`,
    `  <testsuite name="${escapeXml(report.target)}" ${counts}>`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

type Problem = 'failure' | 'error' | 'skipped';

function problemOf(
  { judgement, severity, unknownAllowed }: AuditResult,
  { failOn }: AuditReport,
): Problem | undefined {
  if (judgement.state === 'pass') return undefined;
  const counts = severities.indexOf(severity) >= severities.indexOf(failOn);
  if (!counts || judgement.state === 'not-applicable') return 'skipped';
  if (judgement.state === 'fail') return 'failure';
  return unknownAllowed ? 'skipped' : 'error';
}

function caseXml(result: AuditResult, kind: Problem | undefined): string {
  const { id, title, severity, fix, judgement } = result;
  const head = `    <testcase classname="audit.${severity}" name="${escapeXml(`${id} ${title}`)}"`;
  if (kind === undefined) return `${head}/>`;
  const message = `${stateWords[judgement.state]}: ${findingText(result)}`;
  if (kind === 'skipped') return `${head}><skipped message="${escapeXml(message)}"/></testcase>`;
  const text = escapeXml([`fix: ${fix}`, `seen: ${evidenceText(judgement)}`].join('\n'));
  return `${head}><${kind} message="${escapeXml(message)}">${text}</${kind}></testcase>`;
}

/** The lines of `--list`. */
export function renderCheckList(checks: readonly CheckDescription[]): readonly string[] {
  const columns: readonly Column<CheckDescription>[] = [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'SEVERITY', cell: ({ severity }) => severity },
    { title: 'CHECK', cell: ({ title }) => title },
    { title: 'READS', cell: ({ reads }) => reads.join('; ') },
  ];
  const layout = new ColumnLayout(columns, checks);
  return [layout.heading(), ...checks.map((check) => layout.line(check))];
}

/** The lines of `--explain`. */
export function explainCheck(check: CheckDescription): readonly string[] {
  return [
    `${check.id}   ${check.title}   ${check.severity}`,
    `  why    ${check.why}`,
    `  reads  ${check.reads.join('; ')}`,
    `  fix    ${check.fix}`,
  ];
}
