/** The shipped scenarios, each once on the cheapest servers that show it, a few at a time. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { fencepost } from '../helpers/fencepost.ts';

/** Where each runs; those of a fault's own test are in faults.test.ts. */
const columns: Readonly<Record<string, readonly string[]>> = {
  redis: [
    'batch-half-done',
    'check-then-write',
    'commit-before-crash',
    'effect-in-doubt',
    'effect-twice',
    'paid-order-not-closed',
    'unlock-after-expiry',
  ],
  zookeeper: ['reconnect-within-session'],
};

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fencepost-scenarios-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const report = z.object({
  cells: z.array(
    z.object({ scenario: z.string(), outcome: z.string(), problems: z.array(z.string()) }),
  ),
});

async function runOnce(
  names: readonly string[],
  column: string,
): Promise<z.infer<typeof report>['cells']> {
  const files = names.map((name) =>
    fileURLToPath(new URL(`../../scenarios/${name}.yaml`, import.meta.url)),
  );
  const args = ['--lab', '--matrix', column, '-o', 'json', '--out', folder];
  const ran = await fencepost(['run', ...files, ...args], {
    XDG_STATE_HOME: join(folder, 'state'),
  });
  expect([0, 3], ran.stdout + ran.stderr).toContain(ran.code);
  return report.parse(JSON.parse(ran.stdout)).cells;
}

const rounds = 6;

test.each(Object.entries(columns))(
  'the scenarios of %s pass, each with its faults proven and a violation seen',
  async (column, names) => {
    let left = names;
    let told: readonly string[] = [];
    // A machine that is too busy for a lease makes a run inconclusive: that one is made again.
    for (let round = 1; round <= rounds && left.length > 0; round += 1) {
      const cells = await runOnce(left, column);
      const open = cells.filter(({ outcome }) => outcome !== 'passed');
      left = open.map(({ scenario }) => scenario);
      told = open.flatMap(({ scenario, problems }) => problems.map((one) => `${scenario}: ${one}`));
    }
    expect(left, told.join('\n')).toEqual([]);
  },
);
