/** Runs the classic scenario in this process, without its controls, with faults of the caller's. */
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { liveDriver } from '../../../src/chaos/drivers/live.ts';
import type { Fault } from '../../../src/chaos/faults/fault.ts';
import { findFault } from '../../../src/chaos/faults/registry.ts';
import { newRunId, planScenarios, runScenarios } from '../../../src/chaos/runner.ts';
import { parseScenario } from '../../../src/chaos/scenario-schema.ts';
import { checkers } from '../../../src/checks/registry.ts';
import type { CellReport } from '../../../src/domain/run-report.ts';
import { parseTarget } from '../../../src/domain/target.ts';

const known = Object.fromEntries(checkers.map(({ name, levels }) => [name, levels ?? []]));
const file = new URL('../../../scenarios/paused-holder-resumes.yaml', import.meta.url);
const scenario = parseScenario(readFileSync(file, 'utf8'), 'classic.yaml', known);

/** @param faults by name, as a run looks them up */
export async function runClassic(
  target: string,
  folder: string,
  faults: (name: string) => Fault | undefined = findFault,
): Promise<CellReport> {
  const parsed = parseTarget(target);
  const request = {
    scenarios: [{ ...scenario, controls: [] }],
    columns: [{ name: parsed.kind, kind: parsed.kind, protocol: undefined }],
    repeat: 1,
    seed: '7',
    controls: true,
    resourceUrl: undefined,
    tool: 'test',
  };
  const report = await runScenarios(request, await planScenarios(request), {
    driver: liveDriver(parsed),
    runId: newRunId(new Date()),
    folder,
    env: { XDG_STATE_HOME: folder },
    secrets: { password: undefined, resourceUrl: undefined },
    signal: new AbortController().signal,
    onProgress: () => undefined,
    findFault: faults,
  });
  expect(report.undoFailed).toBe(false);
  const [cell] = report.cells;
  if (cell === undefined) throw new Error('nothing ran');
  return cell;
}
