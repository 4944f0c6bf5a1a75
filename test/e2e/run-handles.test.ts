/** What a CI job steers a run with: folders, a filter, a deadline, an early end, a summary. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { fencepost, type Ran } from '../helpers/fencepost.ts';
import { inTime } from '../helpers/in-time.ts';

const classic = fileURLToPath(
  new URL('../../scenarios/paused-holder-resumes.yaml', import.meta.url),
);
const outcomes = z.object({
  outcome: z.string(),
  cells: z.array(
    z.object({ outcome: z.string(), problems: z.array(z.string()), seed: z.string().optional() }),
  ),
});
let folder: string;
let scenarios: string;
let env: Record<string, string>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fencepost-handles-'));
  scenarios = join(folder, 'scenarios');
  mkdirSync(scenarios);
  cpSync(classic, join(scenarios, 'classic.yaml'));
  env = { XDG_STATE_HOME: join(folder, 'state') };
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function run(...args: readonly string[]): Promise<Ran> {
  return fencepost(['run', ...args, '--lab', '--out', join(folder, 'runs')], env);
}

function nothingIsLeft(): void {
  const journals = join(folder, 'state', 'fencepost', 'journals');
  expect(existsSync(journals) ? readdirSync(journals) : []).toEqual([]);
}

describe('fencepost run in a CI job', () => {
  test('runs every scenario of a folder, and writes a summary in Markdown', async () => {
    const summary = join(folder, 'summary.md');
    const ran = await inTime(() => run(scenarios, '--summary', summary));
    expect(ran.code, ran.stdout).toBe(0);
    expect(readFileSync(summary, 'utf8')).toMatch(
      /^# every invariant as expected[^]*## paused-holder-resumes on redis: passed/,
    );
  });

  test('begins nothing more after a failure when asked to, and keeps the logs of its servers', async () => {
    const failing = join(folder, 'failing.yaml');
    // What holds was declared to break: that is a failure too.
    const broken = '{ verdict: violated, because: somebody thinks so }';
    const wrong = `expect: { no-foreign-renewal: ${broken} }\n\ninvariants:`;
    writeFileSync(failing, readFileSync(classic, 'utf8').replace('\ninvariants:', `\n${wrong}`));
    const args = ['--repeat', '5', '--vary-seed', '--seed', '7', '--no-controls', '--fail-fast'];
    const ran = await run(failing, ...args, '-o', 'json');
    expect(ran.code, ran.stderr).toBe(1);
    const { cells } = outcomes.parse(JSON.parse(ran.stdout));
    expect(cells).toHaveLength(5);
    expect(cells.map(({ outcome }) => outcome)).toContain('failed');
    expect(cells.map(({ seed }) => seed)).toEqual(['7', '7/2', '7/3', '7/4', '7/5']);
    expect(cells.at(-1)).toMatchObject({
      outcome: 'inconclusive',
      problems: ['not begun: another run failed before it'],
    });
    const failed = cells.findIndex(({ outcome }) => outcome === 'failed') + 1;
    const latest = join(folder, 'runs', 'latest');
    const logs = join(latest, `paused-holder-resumes-redis-${failed}`, 'logs');
    expect(readdirSync(logs)).toHaveLength(1);
    expect(readFileSync(join(logs, readdirSync(logs)[0] ?? ''), 'utf8')).toContain('Redis');
  });

  test('undoes everything at its deadline, and is inconclusive', async () => {
    const ran = await run(scenarios, '--deadline', '3s', '-o', 'json');
    expect(ran.code).toBe(3);
    const { outcome, cells } = outcomes.parse(JSON.parse(ran.stdout));
    expect(outcome).toBe('inconclusive');
    expect(cells).toMatchObject([
      { problems: ["not finished: the run's deadline of 3s was over"] },
    ]);
    nothingIsLeft();
  });

  test('refuses a filter that leaves nothing, and a folder without scenarios', async () => {
    const none = await run(scenarios, '--filter', 'split-*');
    expect([none.code, none.stdout]).toEqual([2, '']);
    expect(none.stderr).toContain('no scenario\'s name matches --filter "split-*"');
    expect(none.stderr).toContain('given are paused-holder-resumes');
    const empty = join(folder, 'empty');
    mkdirSync(empty);
    const nothing = await run(empty);
    expect([nothing.code, nothing.stdout]).toEqual([2, '']);
    expect(nothing.stderr).toContain(`there is no scenario in the folder "${empty}"`);
    expect(existsSync(join(folder, 'runs', 'none'))).toBe(false);
  });
});
