/** The shipped scenario of each fault, by the built program. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fencepost } from '../helpers/fencepost.ts';
import { inTime } from '../helpers/in-time.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fencepost-faults-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

test.each([
  ['renewals-starve', 'redis', /A STARVE +none for 200 ms, state [RS]/],
  ['requests-cut', 'etcd', /A CUT .*to-server: 0 bytes forwarded, [1-9]\d* dropped/],
  ['replies-cut', 'zookeeper', /A CUT .*to-worker: 0 bytes forwarded, [1-9]\d* dropped/],
])('%s passes on %s, its fault proven and its control red', async (name, kind, evidence) => {
  const file = fileURLToPath(new URL(`../../scenarios/${name}.yaml`, import.meta.url));
  const env = { XDG_STATE_HOME: join(folder, 'state') };
  const args = ['run', file, '--lab', '--matrix', kind, '--out', folder];
  const ran = await inTime(() => fencepost(args, env));
  expect(ran.code, ran.stdout + ran.stderr).toBe(0);
  expect(ran.stdout).toMatch(evidence);
  expect(ran.stdout).toContain('every fault proven');
});
