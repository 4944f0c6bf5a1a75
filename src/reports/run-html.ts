/**
 * A run as one HTML page that needs nothing else: its policy forbids the browser to fetch anything.
 * Every text is escaped; the timelines work without script, print, and in the dark.
 */
import { readFileSync } from 'node:fs';
import type {
  ArmReport,
  CellReport,
  ControlReport,
  FaultReport,
  InvariantReport,
  RunReport,
} from '../domain/run-report.ts';
import type { RunPicture } from '../domain/run-picture.ts';
import { escapeXml } from './escape.ts';
import { placeLabels } from './place-labels.ts';
import { pictureDefinitions, renderPicture } from './picture-svg.ts';
import {
  byScenario,
  cellName,
  controlText,
  controlTone,
  invariantTone,
  notPassed,
  summaryText,
  unexpected,
  verdictText,
} from './run-words.ts';

/** The picture of an arm, by its folder; undefined where its history is gone. */
export type PictureOf = (arm: ArmReport) => RunPicture | undefined;

export function renderHtml(report: RunReport, pictureOf: PictureOf): string {
  const title = `${[...byScenario(report).keys()].join(', ')}: ${report.outcome}`;
  const policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeXml(title)}</title>
<style>${asset('page.css')}</style>
</head>
<body>
${pictureDefinitions}
${opening(report)}
${[...byScenario(report).values()].map(matrix).join('\n')}
${report.cells.map((cell) => cellHtml(cell, report, pictureOf)).join('\n')}
<script>${placeLabels.toString()}
${asset('page.js')}</script>
</body>
</html>
`;
}

function asset(name: string): string {
  return readFileSync(new URL(`./page/${name}`, import.meta.url), 'utf8');
}

function element(tag: string, text: string, className?: string): string {
  const attribute = className === undefined ? '' : ` class="${className}"`;
  return `<${tag}${attribute}>${escapeXml(text)}</${tag}>`;
}

function opening(report: RunReport): string {
  const about = `run ${report.runId} · seed ${report.seed} · begun ${report.startedAt} · fencepost ${report.tool}`;
  const good = report.outcome === 'passed';
  return [
    element('h1', summaryText(report), good ? 'good' : 'bad'),
    element('p', about, 'faint'),
    lookFirst(report),
  ].join('\n');
}

/** What stands between this run and a pass, the violations first. */
function lookFirst(report: RunReport): string {
  const lines = notPassed(report).flatMap((cell) => {
    const name = cellName(cell, report);
    return [
      ...unexpected(cell).map(
        (one) => `${name}: ${one.invariant} ${verdictText(one)}: ${one.note}`,
      ),
      ...cell.problems.map((problem) => `${name}: ${problem}`),
    ];
  });
  if (lines.length === 0) return '';
  const items = lines.map((line) => element('li', line)).join('');
  return `<div class="first">${element('strong', 'Look at this first')}<ul>${items}</ul></div>`;
}

function matrix(cells: readonly CellReport[]): string {
  const [first] = cells;
  if (first === undefined) return '';
  const names = new Set(
    cells.flatMap(({ main }) => main?.invariants ?? []).map((one) => one.invariant),
  );
  const controls = new Set(cells.flatMap((cell) => cell.controls).map(({ mutate }) => mutate));
  const row = (title: string, of: (cell: CellReport) => string): string =>
    `<tr>${element('td', title)}${cells.map(of).join('')}</tr>`;
  const rows = [
    ...[...names].map((name) => row(name, (cell) => invariantCell(cell, name))),
    ...[...controls].map((name) => row(`control ${name}`, (cell) => controlCell(cell, name))),
  ];
  const heads = cells.map(({ column, round }) =>
    element('th', round > 1 ? `${column} ${round}` : column),
  );
  return `${element('h2', `${first.scenario}: ${first.title}`)}
<div class="scroll"><table><tr><th></th>${heads.join('')}</tr>
${rows.join('\n')}
</table></div>`;
}

function invariantCell({ main, outcome }: CellReport, name: string): string {
  const found = main?.invariants.find(({ invariant }) => invariant === name);
  if (found === undefined) return element('td', outcome, 'warn');
  return element('td', verdictText(found), invariantTone(found));
}

function controlCell({ controls }: CellReport, name: string): string {
  const found = controls.find(({ mutate }) => mutate === name);
  return found === undefined
    ? element('td', 'not run', 'warn')
    : element('td', controlText(found), controlTone(found));
}

function cellHtml(cell: CellReport, report: RunReport, pictureOf: PictureOf): string {
  const about = `protocol ${cell.protocol} on ${cell.target}`;
  return [
    element('h2', `${cellName(cell, report)}: ${cell.outcome}`),
    element('p', about, 'faint'),
    cell.main === undefined ? '' : armHtml(cell.main, pictureOf),
    ...cell.controls.map((control) => controlHtml(control, pictureOf)),
  ].join('\n');
}

function controlHtml(control: ControlReport, pictureOf: PictureOf): string {
  const title = `control ${control.mutate}: ${controlText(control)}`;
  const arm = control.arm === undefined ? '' : armHtml(control.arm, pictureOf);
  return `<details>${element('summary', title)}${element('p', control.note)}${arm}</details>`;
}

function armHtml(arm: ArmReport, pictureOf: PictureOf): string {
  return [
    timeline(arm, pictureOf(arm)),
    invariantTable(arm.invariants),
    faultTable(arm.faults),
    stepTable(arm),
    ...arm.problems.map((problem) => element('p', problem, 'warn')),
  ].join('\n');
}

const legend = [
  'bar: lock held, with its fencing token',
  'dashed bar: still believed after the lease',
  '● accepted',
  '✕ refused',
  '△ unknown',
  '◇ record ended',
  'hatched: fault',
  'red arrow: violation',
  'Ctrl and wheel zoom; drag to pan',
];

function timeline(arm: ArmReport, picture: RunPicture | undefined): string {
  if (picture === undefined) {
    return element('p', `no timeline: ${arm.folder}/history.jsonl cannot be read`, 'warn');
  }
  const buttons = [
    ['in', '+', 'zoom in'],
    ['out', '−', 'zoom out'],
    ['left', '←', 'earlier'],
    ['right', '→', 'later'],
    ['all', 'all', 'whole run'],
  ].map(
    ([act, text, label]) =>
      `<button type="button" data-do="${act}" aria-label="${label}">${text}</button>`,
  );
  return `<div class="timeline"><div class="tools">${buttons.join('')}</div>
<div class="scroll">${renderPicture(picture, `timeline of ${arm.arm}`)}</div>
<p class="legend">${legend.map((text) => element('span', text)).join('')}</p>
${picture.leftOut.map((text) => element('p', text, 'warn')).join('')}</div>`;
}

function invariantTable(invariants: readonly InvariantReport[]): string {
  const rows = invariants.map((one) => {
    const lines = one.witnessLines.map((line) => `<br>${element('code', line)}`).join('');
    const name = element(
      'td',
      one.bound === undefined ? one.invariant : `${one.invariant} within ${one.bound}`,
    );
    return `<tr>${name}${element('td', verdictText(one), invariantTone(one))}<td>${escapeXml(one.note)}${lines}</td></tr>`;
  });
  return table('Invariants', ['', 'verdict', 'why'], rows);
}

function faultTable(faults: readonly FaultReport[]): string {
  const rows = faults.flatMap(({ fault, target, proven, beganAtMs, endedAtMs, evidence }) => {
    const lasted = endedAtMs === undefined ? 'not ended' : `${seconds(endedAtMs - beganAtMs)} s`;
    const head = [
      element('td', `${fault} of ${target}`),
      element('td', proven ? 'proven' : 'NOT PROVEN', proven ? 'good' : 'bad'),
      element('td', `from ${seconds(beganAtMs)} s, ${lasted}`),
    ];
    const facts = evidence.map((one) => {
      const word = one.holds ? '' : 'does not hold: ';
      return element(
        'li',
        `${one.source}: ${word}${one.fact}: ${one.proves}`,
        one.holds ? undefined : 'bad',
      );
    });
    return [`<tr>${head.join('')}<td><ul>${facts.join('')}</ul></td></tr>`];
  });
  return table('Faults and their evidence', ['fault', '', 'when', 'evidence'], rows);
}

function stepTable({ steps }: ArmReport): string {
  const rows = steps.map(({ line, text, status, atMs, note }) => {
    const tone = status === 'done' ? undefined : 'warn';
    const cells = [
      element('td', atMs === undefined ? '' : `${seconds(atMs)} s`),
      element('td', text),
      element('td', status, tone),
      element('td', note),
      element('td', String(line), 'faint'),
    ];
    return `<tr>${cells.join('')}</tr>`;
  });
  const inner = table('', ['at', 'step', '', 'result', 'line'], rows);
  return rows.length === 0 ? '' : `<details><summary>Steps</summary>${inner}</details>`;
}

function table(title: string, heads: readonly string[], rows: readonly string[]): string {
  if (rows.length === 0) return '';
  const head = heads.map((text) => element('th', text)).join('');
  const heading = title === '' ? '' : element('h3', title);
  return `${heading}<div class="scroll"><table><tr>${head}</tr>\n${rows.join('\n')}\n</table></div>`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}
