import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fencepost } from '../helpers/fencepost.ts';

const classic = new URL('../../scenarios/paused-holder-resumes.yaml', import.meta.url);
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fencepost-own-worker-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Says that it can do nothing, and ends with its stdin. */
const idle = `
process.stdin.once('data', (line) => {
  const { workerId } = JSON.parse(line);
  const ready = { type: 'ready', version: 1, workerId, pid: process.pid, honours: [] };
  process.stdout.write(JSON.stringify(ready) + '\\n');
});
process.stdin.on('end', () => process.exit(0));
`;

test('a worker beside its scenario is asked, and refused for the step that it cannot do', async () => {
  const file = join(folder, 'mine.yaml');
  writeFileSync(join(folder, 'idle.cjs'), idle);
  const text = readFileSync(classic, 'utf8');
  writeFileSync(file, `${text}\nworker: { command: [node, idle.cjs] }\n`);
  const env = { XDG_STATE_HOME: join(folder, 'state') };
  const ran = await fencepost(['run', file, '--lab', '--out', folder], env);
  expect(ran.stderr).toMatch(/step A-close-order needs "before-send", which the worker does not/);
  expect(ran.code).toBe(2);
});
