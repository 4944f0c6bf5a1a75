/** The classic scenario many times over on each backend: what holds once must hold every time. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { fencepost } from '../helpers/fencepost.ts';

const classic = fileURLToPath(
  new URL('../../scenarios/paused-holder-resumes.yaml', import.meta.url),
);
const repeat = 20;
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fencepost-soak-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const invariant = z.object({
  invariant: z.string(),
  verdict: z.string(),
  reportOnly: z.boolean(),
});
const run = z.object({
  cells: z.array(
    z.object({
      main: z.object({ invariants: z.array(invariant) }),
      controls: z.array(z.object({ result: z.string() })),
    }),
  ),
});

test.each(['redis', 'etcd', 'zookeeper'])(
  `%s holds every invariant in ${repeat} runs, with a control red in each`,
  async (system) => {
    const ran = await fencepost(
      ['run', classic, '--lab', '--matrix', system, '--repeat', String(repeat)].concat([
        '-o',
        'json',
        '--out',
        join(folder, system),
      ]),
      { XDG_STATE_HOME: join(folder, 'state') },
    );
    const { cells } = run.parse(JSON.parse(ran.stdout));
    const verdicts = cells.flatMap(({ main }) => main.invariants.filter((one) => !one.reportOnly));
    const held = verdicts.filter(({ verdict }) => verdict === 'held').length;
    const red = cells.filter(({ controls }) =>
      controls.some(({ result }) => result === 'went-red'),
    );
    process.stdout.write(
      `classic scenario, ${system}: ${cells.length} runs, ${held} of ${verdicts.length} verdicts held, a control red in ${red.length}\n`,
    );
    expect(verdicts.filter(({ verdict }) => verdict !== 'held')).toEqual([]);
    expect([cells.length, red.length]).toEqual([repeat, repeat]);
    expect(ran.code, ran.stderr).toBe(0);
  },
);
