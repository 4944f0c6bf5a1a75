/**
 * Starts worker processes, each detached in a process group of its own: a stop then reaches
 * wrappers and helpers too, and Ctrl-C on the terminal reaches none of them behind our back.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { FencepostError } from '../domain/errors.ts';
import { openProcessReader, type ProcessIdentity } from '../processes/process-evidence.ts';
import { WorkerProcess } from './worker-process.ts';
import type { InitMessage } from './worker-protocol.ts';
import type { WorkerCommand, WorkerHandle, WorkerPool } from './worker.ts';

/** The built program, also when this file runs from its source (tests). */
const workerMain = fileURLToPath(
  new URL('./worker-main.js', import.meta.url.replace(/\/src\/chaos\/[^/]*$/, '/dist/chaos/')),
);

const closeGraceMs = 500;

export function createWorkerPool(): WorkerPool {
  const workers = new Set<WorkerProcess>();
  return {
    async start(init, command, readyTimeoutMs, onSpawn): Promise<WorkerHandle> {
      const { child, group } = await spawnWorker(init, command);
      const worker = new WorkerProcess(init.workerId, child, group);
      workers.add(worker);
      void worker.exit.then(() => workers.delete(worker));
      try {
        await onSpawn?.(group);
        return await worker.begin(init, readyTimeoutMs);
      } catch (error) {
        await worker.close(0);
        throw error;
      }
    },
    async close() {
      await Promise.all([...workers].map((worker) => worker.close(closeGraceMs)));
    },
  };
}

async function spawnWorker(
  init: InitMessage,
  command: WorkerCommand,
): Promise<{ child: ChildProcessWithoutNullStreams; group: ProcessIdentity }> {
  const [program, ...args] = command.argv ?? [process.execPath, workerMain];
  const child = spawn(program, args, {
    detached: true,
    stdio: 'pipe',
    env: { ...process.env, ...command.env },
  });
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    const facts = child.pid === undefined ? undefined : await openProcessReader().read(child.pid);
    if (facts === undefined) throw new Error('it ended at once');
    return { child, group: { pid: facts.pid, startTime: facts.startTime } };
  } catch (cause) {
    throw new FencepostError(`worker ${init.workerId} did not start: ${program}`, {
      code: 'worker-not-started',
      hint: 'check that the worker command can be run from this folder',
      cause,
      definite: true,
    });
  }
}
