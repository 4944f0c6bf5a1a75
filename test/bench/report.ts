/** Results as a table for people and as JSON for machines. */
import { cpus, release, totalmem, type } from 'node:os';
import type { BenchOptions, Goal, Row } from './bench.ts';

const columns = [
  'BENCH',
  'SUBJECT',
  'TIME',
  'PEER',
  'PEER TIME',
  'RATIO',
  'SPREAD',
  'CPU',
  'CPU RATIO',
  'PEAK',
  'GOAL',
];

/** Columns padded with spaces; ratios are medians, the spread goes from the lowest to the highest. */
export function toTable(rows: readonly Row[]): string {
  const cells = [columns, ...rows.map(cellsOf)];
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  return cells
    .map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

function cellsOf(row: Row): readonly string[] {
  return [
    row.bench,
    row.subject,
    duration(row.ms),
    row.peer,
    duration(row.peerMs),
    row.ratio.toFixed(2),
    `${row.lowestRatio.toFixed(2)}–${row.highestRatio.toFixed(2)}`,
    row.cpuMs === undefined ? '' : duration(row.cpuMs),
    row.cpuRatio?.toFixed(2) ?? '',
    row.peakMib === undefined ? '' : `${row.peakMib.toFixed(0)} MiB`,
    goalWords(row.goal),
  ];
}

function goalWords({ ratio, peakMib, ms }: Goal): string {
  const words = [
    ...(ratio === undefined ? [] : [`≤ ${ratio}`]),
    ...(ms === undefined ? [] : [`≤ ${duration(ms)}`]),
    ...(peakMib === undefined ? [] : [`≤ ${peakMib} MiB`]),
  ];
  return words.join(', ');
}

function duration(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  return ms >= 10 ? `${ms.toFixed(0)} ms` : `${ms.toFixed(2)} ms`;
}

/** Everything needed to read the figures later: the machine, the sizes, each row. */
export function toJson(rows: readonly Row[], { sizes, runs }: BenchOptions): string {
  const [cpu] = cpus();
  const machine = {
    cpu: cpu?.model ?? 'unknown',
    cores: cpus().length,
    memoryMib: Math.round(totalmem() / 1024 ** 2),
    system: `${type()} ${release()}`,
    node: process.version,
  };
  const document = { schemaVersion: 1, at: new Date().toISOString(), machine, sizes, runs, rows };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}
