import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseTarget } from '../../../src/domain/target.ts';
import { askRedis } from '../../../src/lab/wire.ts';
import { serverLink } from '../../../src/protocols/redis-link.ts';
import { useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';
import { runClassic } from './run-classic.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fencepost-ways-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const goneRound =
  /^worker A went round its proxies: 127\.0\.0\.1:\d+ sees its connection from 127\.0\.0\.1:\d+, which is none of theirs$/;

/** Opens a connection to `port` named as those of worker A, which `seed` sees. */
async function goRound(seed: number, port: number) {
  const clientName = await until('worker A is connected', async () => {
    const list = await askRedis(seed, [['CLIENT', 'LIST']]);
    return /name=(fencepost-run-\w+-A)/.exec(list)?.[1];
  });
  const target = parseTarget(`redis://127.0.0.1:${port}`);
  const link = serverLink({ target, requestTimeoutMs: 1000, clientName }, target.endpoints[0]);
  expect(await link.open()).toBeUndefined();
  return link;
}

describe.each([
  { system: 'redis-sentinel', server: 'sentinel-2' },
  { system: 'redis-cluster', server: 'node-5' },
  { system: 'redlock', server: 'redis-4' },
] as const)('a run on a $system lab', ({ system, server }) => {
  const lab = useLab({ system });

  test(`is inconclusive when ${server} sees a connection of A beside its proxies`, async () => {
    const running = runClassic(lab.target, folder);
    const port = lab.lab.servers.find(({ name }) => name === server)?.port ?? 0;
    const link = await goRound(parseTarget(lab.target).endpoints[0].port, port);
    const cell = await running;
    link.close();
    expect(cell.outcome).toBe('inconclusive');
    const found = cell.problems.filter((problem) => goneRound.test(problem));
    expect(found, cell.problems.join('\n')).toHaveLength(1);
    expect(found[0]).toContain(`: 127.0.0.1:${port} sees`);
  });
});

describe('a run in which a server does not list its clients', () => {
  const lab = useLab({ system: 'redis' });

  test('is inconclusive, and names the server', async () => {
    const { port = 0 } = lab.lab.servers[0] ?? {};
    const rules = ['on', '>secret', '~*', '&*', '+@all', '-client|list'];
    expect(await askRedis(port, [['ACL', 'SETUSER', 'blind', ...rules]])).toContain('+OK');
    const cell = await runClassic(`redis://blind:secret@127.0.0.1:${port}`, folder);
    expect(cell.outcome).toBe('inconclusive');
    expect(cell.problems.join('\n')).toContain(
      `whether worker A goes through its proxies is unknown: 127.0.0.1:${port} did not list its clients`,
    );
  });
});
