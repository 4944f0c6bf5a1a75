import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rawRedis } from '../contract/redis/redis-seeder.ts';
import { useLab } from '../helpers/servers.ts';
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

const server = useLab({ system: 'redis' });

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

test('a dry run on a target asks the worker, too, and writes nothing', async () => {
  const file = join(folder, 'asked.yaml');
  writeFileSync(join(folder, 'idle.cjs'), idle);
  const text = readFileSync(classic, 'utf8');
  writeFileSync(file, `${text}\nworker: { command: [node, idle.cjs] }\n`);
  const env = { XDG_STATE_HOME: join(folder, 'state') };
  const dry = (scenario: string, target: string) =>
    fencepost(['run', scenario, '--target', target, '--dry-run'], env);
  const own = await dry(file, server.target);
  expect(own.stderr).toMatch(/step A-close-order needs "before-send"/);
  expect(own.code).toBe(2);
  const ours = await dry(fileURLToPath(classic), server.target);
  expect(ours.stderr).toContain('can be read');
  expect(ours.code).toBe(0);
  expect(await dry(file, 'redis://127.0.0.1:1')).toMatchObject({ code: 4 });
  const client = rawRedis(server.target);
  expect(await client.dbsize()).toBe(0);
  client.disconnect();
});
