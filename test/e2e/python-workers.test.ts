/** Locks of real Python libraries under chaos: workers of the user's own, by the built program. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pythonWith } from '../contract/real-clients/python.ts';
import { fencepost, type Ran } from '../helpers/fencepost.ts';
import { inTime } from '../helpers/in-time.ts';

const scenarios = fileURLToPath(new URL('../../scenarios/', import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fencepost-python-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Runs a shipped scenario with a shipped worker, by an interpreter that has its library. */
function run(scenario: string, worker: string, python: string, kind: string): Promise<Ran> {
  const shipped = readFileSync(join(scenarios, `${scenario}.yaml`), 'utf8');
  const command = JSON.stringify([python, join(scenarios, 'workers', worker)]);
  const file = join(folder, `${worker}.yaml`);
  const text = shipped.replace(/^worker:.*$/m, '');
  writeFileSync(file, `${text}\nworker: { command: ${command} }\n`);
  const env = { XDG_STATE_HOME: join(folder, 'state') };
  return inTime(() => fencepost(['run', file, '--lab', '--matrix', kind, '--out', folder], env));
}

test("kazoo's lock survives the classic, with the czxid of its node as the fence", async () => {
  const python = pythonWith({ module: 'kazoo', debian: 'python3-kazoo', pypi: 'kazoo' });
  const ran = await run('paused-holder-resumes', 'kazoo_worker.py', python, 'zookeeper');
  expect(ran.code, ran.stdout + ran.stderr).toBe(0);
  expect(ran.stdout).toMatch(/A goes on +REFUSED stale-token/);
  expect(ran.stdout).toMatch(/A releases +REFUSED not-owner/);
  expect(ran.stdout).toMatch(/control resource-accepts-any +went red/);
  expect(ran.stdout).toMatch(/control release-without-owner-check +prevented by layout/);
});

test("redis-py's lock without a fence lets the old owner write last, and is seen to", async () => {
  const python = pythonWith({ module: 'redis', debian: 'python3-redis', pypi: 'redis' });
  const ran = await run('redis-py-paused-holder', 'redis_py_worker.py', python, 'redis');
  expect(ran.code, ran.stdout + ran.stderr).toBe(0);
  expect(ran.stdout).toMatch(/A goes on +accepted/);
  expect(ran.stdout).toMatch(/mutual-exclusion effect +violated, as expected/);
  expect(ran.stdout).toMatch(/no-foreign-release +held/);
  expect(ran.stdout).toMatch(/control release-without-owner-check +went red/);
});

test('the classic is refused for a worker whose lock has no fence', async () => {
  const python = pythonWith({ module: 'redis', debian: 'python3-redis', pypi: 'redis' });
  const ran = await run('paused-holder-resumes', 'redis_py_worker.py', python, 'redis');
  expect(ran.stderr).toContain('protocol redis-fenced needs "fence"');
  expect(ran.code).toBe(2);
});
