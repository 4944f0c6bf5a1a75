import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkers } from '../../../src/checks/registry.ts';
import { liveDriver } from '../../../src/chaos/drivers/live.ts';
import type { Fault } from '../../../src/chaos/faults/fault.ts';
import { createPause } from '../../../src/chaos/faults/pause.ts';
import { findFault } from '../../../src/chaos/faults/registry.ts';
import { newRunId, planScenarios, runScenarios } from '../../../src/chaos/runner.ts';
import { parseScenario } from '../../../src/chaos/scenario-schema.ts';
import type { CellReport } from '../../../src/domain/run-report.ts';
import { parseTarget } from '../../../src/domain/target.ts';
import { useLab } from '../../helpers/servers.ts';

const known = Object.fromEntries(checkers.map(({ name, levels }) => [name, levels ?? []]));
const file = new URL('../../../scenarios/paused-holder-resumes.yaml', import.meta.url);
const scenario = parseScenario(readFileSync(file, 'utf8'), 'classic.yaml', known);

describe('a pause that does not do what it says', () => {
  const server = useLab({ system: 'redis' });
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'fencepost-mutants-'));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  /** The classic without its controls, with the pause swapped out. */
  async function runWith(pause: Fault): Promise<CellReport> {
    const request = {
      scenarios: [{ ...scenario, controls: [] }],
      columns: [{ name: 'redis', kind: 'redis', protocol: undefined } as const],
      repeat: 1,
      seed: '7',
      controls: true,
      resourceUrl: undefined,
      tool: 'test',
    };
    const report = await runScenarios(request, await planScenarios(request), {
      driver: liveDriver(parseTarget(server.target)),
      runId: newRunId(new Date()),
      folder,
      env: { XDG_STATE_HOME: folder },
      secrets: { password: undefined, resourceUrl: undefined },
      signal: new AbortController().signal,
      onProgress: () => undefined,
      findFault: (name) => (name === 'pause' ? pause : findFault(name)),
    });
    expect(report.undoFailed).toBe(false);
    const [cell] = report.cells;
    if (cell === undefined) throw new Error('nothing ran');
    return cell;
  }

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
