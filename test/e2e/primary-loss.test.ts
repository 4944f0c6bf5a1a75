import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askRedis } from '../../src/lab/wire.ts';
import { fencepost, type Ran } from '../helpers/fencepost.ts';
import { useLab } from '../helpers/servers.ts';

const shipped = fileURLToPath(
  new URL('../../scenarios/primary-lost-unreplicated.yaml', import.meta.url),
);
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fencepost-loss-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function run(...args: readonly string[]): Promise<Ran> {
  return fencepost(['run', ...args, '--out', folder], { XDG_STATE_HOME: join(folder, 'state') });
}

test('a grant that no replica has is lost with its primary, and two hold the lock, as expected', async () => {
  const ran = await run(shipped, '--lab');
  expect(ran.code, ran.stdout).toBe(0);
  for (const line of [
    /A HOLD-REPLICATION .* bytes dropped/,
    /A LOSE-PRIMARY .*ECONNREFUSED.*replica-1 is master.*replica-1 does not have the lock/,
    /^ {2}mutual-exclusion service +violated, as expected$/m,
    /mutual-exclusion:service is expected violated: the promoted replica never heard of the grant/,
    /^every invariant as expected · every fault proven/m,
  ]) {
    expect(ran.stdout).toMatch(line);
  }
});

test('a promoted replica that has the lock proves nothing: inconclusive', async () => {
  const file = join(folder, 'replicated.yaml');
  writeFileSync(file, readFileSync(shipped, 'utf8').replace(/^ {2}- hold-replication.*$/m, ''));
  const ran = await run(file, '--lab');
  expect(ran.code, ran.stdout).toBe(3);
  expect(ran.stdout).toMatch(/fault lose-primary \(A-lose-primary\) is not proven/);
});

describe('on servers that are not ours', () => {
  const server = useLab({ system: 'redis', members: 3 });

  test('nothing is held and nothing is killed: refused before the run, with the reason', async () => {
    const ran = await run(shipped, '--target', server.target);
    expect(ran.code, ran.stdout).toBe(2);
    expect(ran.stderr).toContain('the servers are not ours to end');
    const primary = server.lab.servers.find(({ name }) => name === 'redis')?.port ?? 0;
    expect(await askRedis(primary, [['INFO', 'replication']])).toContain('connected_slaves:2');
  });
});
