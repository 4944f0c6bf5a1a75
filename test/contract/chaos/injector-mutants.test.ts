import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Fault } from '../../../src/chaos/faults/fault.ts';
import { createPause } from '../../../src/chaos/faults/pause.ts';
import { findFault } from '../../../src/chaos/faults/registry.ts';
import type { CellReport } from '../../../src/domain/run-report.ts';
import { useLab } from '../../helpers/servers.ts';
import { runClassic } from './run-classic.ts';

describe('a pause that does not do what it says', () => {
  const server = useLab({ system: 'redis' });
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'fencepost-mutants-'));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  const runWith = (pause: Fault): Promise<CellReport> =>
    runClassic(server.target, folder, (name) => (name === 'pause' ? pause : findFault(name)));

  test('by not stopping anything is caught before the next step', async () => {
    const cell = await runWith(createPause(() => Promise.resolve(true)));
    expect(cell.outcome).toBe('inconclusive');
    expect(cell.problems.join('\n')).toContain('0 of 1 process in state T');
    expect(cell.main?.steps.find(({ id }) => id === 'wait-absent')?.status).toBe('not-reached');
  });

  test('by resuming at once is caught, although every invariant held', async () => {
    const pause = createPause(async (worker, name) => {
      const sent = await worker.signal(name);
      if (name === 'SIGSTOP') setTimeout(() => void worker.signal('SIGCONT'), 200);
      return sent;
    });
    const cell = await runWith(pause);
    expect(cell.outcome).toBe('inconclusive');
    expect(cell.problems.join('\n')).toContain('fault pause (A-pause) is not proven');
  });

  test('by resuming in the middle for a moment is caught by the heartbeats', async () => {
    const pause = createPause(async (worker, name) => {
      const sent = await worker.signal(name);
      if (name === 'SIGSTOP') {
        setTimeout(() => void worker.signal('SIGCONT'), 500);
        setTimeout(() => void worker.signal('SIGSTOP'), 900);
      }
      return sent;
    });
    const cell = await runWith(pause);
    expect(cell.outcome).toBe('inconclusive');
    const evidence = cell.main?.faults.find(({ fault }) => fault === 'pause')?.evidence ?? [];
    expect(evidence.filter(({ holds }) => !holds).map(({ source }) => source)).toContain(
      'heartbeats',
    );
  });

  test('by never resuming is caught, and the stopped worker is gone afterwards', async () => {
    let pid: number | undefined;
    const pause = createPause((worker, name) => {
      pid = worker.group.pid;
      return name === 'SIGSTOP' ? worker.signal(name) : Promise.resolve(true);
    });
    const cell = await runWith(pause);
    expect(cell.outcome).toBe('inconclusive');
    expect(pid).toBeDefined();
    expect(() => process.kill(pid ?? 0, 0)).toThrow('ESRCH');
  });

  test('is not what the shipped one is: the same run passes with it', async () => {
    const cell = await runWith(createPause((worker, name) => worker.signal(name)));
    // Without controls it still cannot be called a pass.
    expect(cell.problems).toEqual([
      'no control went red: nothing shows that a violation would be seen',
    ]);
  });
});
