/** An ensemble of three: a member down, and no quorum. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Backend } from '../../../src/backends/backend.ts';
import { FencepostError } from '../../../src/domain/errors.ts';
import { parseText } from '../../../src/domain/text.ts';
import { fencepost } from '../../helpers/fencepost.ts';
import { useLab } from '../../helpers/servers.ts';
import { collect, everyLock, forever } from '../backend/subject.ts';
import { openTarget, RawZooKeeper } from './zookeeper-seeder.ts';

const lab = useLab({ system: 'zookeeper', members: 3 });
const name = parseText('/locks/a');
let backend: Backend;

beforeAll(async () => {
  const raw = await RawZooKeeper.open(lab.target);
  await raw.makePath('/locks/a');
  // Persistent: it outlives every session and every member.
  await raw.create('/locks/a/lock-', 'w1', 'sequential');
  await raw.close();
});
beforeEach(async () => {
  backend = await openTarget(lab.target);
});
afterEach(async () => {
  await backend.close();
  for (const { name: server } of lab.lab.servers) {
    await lab.lab.start(server).catch((error: unknown) => {
      if (!(error instanceof FencepostError) || error.code !== 'lab-server-runs') throw error;
    });
  }
});

describe('with one member of three down', () => {
  test('the others answer, and the probe names the one that does not', async () => {
    const [gone] = lab.lab.servers;
    if (gone === undefined) throw new Error('an ensemble has members');
    await lab.lab.kill(gone.name);
    const rows = await collect(backend.list(everyLock, forever).locks);
    expect(rows.map(({ ref }) => ref.name)).toEqual([name]);
    const probe = await backend.probe(forever);
    expect(JSON.stringify([probe.topology, probe.healthy])).toContain(`127.0.0.1:${gone.port}`);
  });
});

describe('without a quorum', () => {
  test('reading and releasing end with a sentence and exit code 4, in time, and nothing is released', async () => {
    const seen = await backend.inspect({ name }, forever);
    if (seen === undefined) throw new Error(`${name} is not there`);
    const [, ...others] = lab.lab.servers;
    await Promise.all(others.map((one) => lab.lab.kill(one.name)));
    const started = performance.now();
    const release = backend.release(seen, { timeoutMs: 3_000 }, forever);
    await expect(release).rejects.toMatchObject({ exitCode: 4 });
    await expect(collect(backend.list(everyLock, forever).locks)).rejects.toMatchObject({
      exitCode: 4,
    });
    expect(performance.now() - started).toBeLessThan(15_000);
    const ran = await fencepost(['ls', '--target', lab.target]);
    expect([ran.code, ran.stdout]).toEqual([4, '']);
    expect(ran.stderr).toMatch(/did not answer within .*\n.*quorum/);
  });
});
