/**
 * How long `check` takes over a history, beside JSON.parse of its lines; and how that grows, beside
 * a history of a tenth of the operations. "parse" is the part of the time before judging begins.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compare, type Bench, type BenchOptions, type Row } from './bench.ts';
import { fencepost, floor, measure } from './child.ts';
import { writeBenchHistory } from './write-history.ts';

export const checkHistories: Bench = {
  name: 'check',
  about: 'check of a history, beside JSON.parse of each line and a history of a tenth',
  async run(options) {
    const folder = mkdtempSync(join(tmpdir(), 'fencepost-bench-'));
    try {
      return await measureIn(folder, options);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function measureIn(folder: string, options: BenchOptions): Promise<readonly Row[]> {
  const { operations } = options.sizes;
  const full = join(folder, 'full.jsonl');
  const tenth = join(folder, 'tenth.jsonl');
  options.tell(`check: writing ${operations} operations`);
  await writeBenchHistory(tenth, operations / 10);
  await writeBenchHistory(full, operations);
  const check = (file: string) => () => measure(fencepost(['check', file]));
  const beside = await compare(
    `check, ${operations} operations`,
    { name: 'JSON.parse', measure: () => measure(floor('json-lines', [full])) },
    [
      { name: 'parse', measure: () => measure(floor('parse-history', [full])) },
      { name: 'parse and judge', goal: { peakMib: 1024 }, measure: check(full) },
    ],
    options,
  );
  const growth = await compare(
    'check, growth',
    { name: `${operations / 10} operations`, measure: check(tenth) },
    [{ name: `${operations} operations`, goal: { ratio: 12 }, measure: check(full) }],
    options,
  );
  return [...beside, ...growth];
}
