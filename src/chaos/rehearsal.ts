/**
 * What a dry run asks before anybody relies on its plan: does the target answer our reads, and can
 * the user's own worker do what the scenario needs. Reads one lock that does not exist; writes nothing.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { displayTarget, type Target } from '../domain/target.ts';
import { cellsOf, newRunId, type Cell, type RunRequest } from './runner.ts';
import { askWorker } from './start-workers.ts';
import { requestTimeoutMs } from './timing.ts';
import { UndoJournal, type Environment } from './undo-journal.ts';
import { Undoing } from './undoing.ts';

/**
 * @returns what was found, a sentence for each scenario and column
 * @throws {TargetError} the target cannot be read @throws {PermissionError} it refuses us
 * @throws {UsageError} `worker-lacks` when the worker cannot do what a step needs
 */
export async function rehearse(
  request: RunRequest,
  target: Target,
  env: Environment,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const cell of await cellsOf({ ...request, repeat: 1 })) {
    const prefix = `fencepost-run-${randomBytes(5).toString('hex')}`;
    await readTarget(cell, target, `${prefix}/nothing`);
    const asked = cell.scenario.worker !== undefined;
    if (asked) await askOnce(cell, request, target, prefix, env, signal);
    const worker = asked ? ', and the worker honours what it needs' : '';
    found.push(`${cell.scenario.name}: ${displayTarget(target)} can be read${worker}`);
  }
  return found;
}

async function readTarget({ protocol }: Cell, target: Target, lock: string): Promise<void> {
  const clientName = 'fencepost-dry-run';
  const observer = await protocol.observe({ target, requestTimeoutMs, clientName });
  try {
    await observer.state(lock);
  } finally {
    await observer.close();
  }
}

async function askOnce(
  { scenario, protocol }: Cell,
  { seed, tool, controls, resourceUrl }: RunRequest,
  target: Target,
  prefix: string,
  env: Environment,
  signal: AbortSignal,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fencepost-dry-run-'));
  const runId = newRunId(new Date());
  const journal = await UndoJournal.open(env, runId, folder);
  const undoing = new Undoing(journal);
  const clientName = `${prefix}-probe`;
  const nothing = (): Promise<void> => Promise.resolve();
  try {
    const servers = (await protocol.servers?.({ target, requestTimeoutMs, clientName })) ?? [];
    await askWorker({
      request: {
        scenario,
        arm: 'main',
        mutation: undefined,
        protocol,
        target,
        throwaway: false,
        controls,
        servers: undefined,
        resourceUrl,
        seed,
        runId,
        tool,
        folder,
        folderName: '.',
      },
      context: {
        journal,
        signal,
        findFault: () => undefined,
        adopt: () => undefined,
        onReady: nothing,
        onStep: () => undefined,
      },
      undoing,
      lock: `${prefix}/${scenario.lock.name}`,
      prefix,
      servers,
    });
  } finally {
    await undoing.run();
    journal.close();
    rmSync(folder, { recursive: true });
  }
}
