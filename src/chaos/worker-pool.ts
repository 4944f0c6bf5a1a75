/**
 * Starts worker processes, each detached in a process group of its own: a stop then reaches
 * wrappers and helpers too, and Ctrl-C on the terminal reaches none of them behind our back.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
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
      const worker = spawnWorker(init, command);
      const group = await worker.identify();
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

/** Listening begins in the same turn: Node throws away what a short-lived child wrote before. */
function spawnWorker(init: InitMessage, command: WorkerCommand): WorkerProcess {
  const [program, ...args] = command.argv ?? [process.execPath, workerMain];
  const child = spawn(program, args, {
    detached: true,
    stdio: 'pipe',
    cwd: command.folder,
    env: { ...process.env, ...command.env },
  });
  return new WorkerProcess(init.workerId, program, child);
}
