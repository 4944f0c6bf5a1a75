/** Crash of a worker: SIGKILL to its whole group. Nothing undoes it, and nothing needs to. */
import { z } from 'zod';
import { FaultNotApplied } from '../../domain/errors.ts';
import { openProcessReader } from '../../processes/process-evidence.ts';
import type { ActiveFault, Fault, FaultContext } from './fault.ts';

export const crash: Fault = {
  name: 'crash',
  title: 'kill a worker (SIGKILL to its process group)',
  options: z.strictObject({}),
  kind: 'instant',
  silences: true,
  undo: 'nothing to undo',
  begin: beginCrash,
};

async function beginCrash({ worker, nowNs }: FaultContext): Promise<ActiveFault> {
  if (!(await worker.signal('SIGKILL'))) {
    throw new FaultNotApplied(`worker ${worker.id} had ended before it could be killed`, {
      code: 'fault-not-applied',
      definite: true,
    });
  }
  const exit = await worker.exit;
  const reader = openProcessReader();
  const left = await reader.readGroup(worker.group.pid);
  const evidence = [
    {
      source: 'exit status',
      atNs: nowNs(),
      fact: `ended by ${exit.signal ?? `exit code ${exit.code ?? 'unknown'}`}`,
      proves: `worker ${worker.id} was killed`,
      holds: exit.signal === 'SIGKILL',
    },
    {
      source: reader.source,
      atNs: nowNs(),
      fact: `${left.length} processes of its group are left`,
      proves: `nothing of worker ${worker.id} lives on`,
      holds: left.length === 0,
    },
  ];
  return { target: worker.id, evidence, end: () => Promise.resolve([]) };
}
