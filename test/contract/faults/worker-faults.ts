/** The faults of a worker that every backend has. */
import { cut } from '../../../src/chaos/faults/cut.ts';
import { starve } from '../../../src/chaos/faults/starve.ts';
import type { LockProtocol } from '../../../src/protocols/protocol.ts';
import type { LabHandle } from '../../helpers/servers.ts';
import { describeFault } from '../fault.contract.ts';
import { oneWayMutants, starveMutants } from './mutants.ts';

export function describeWorkerFaults(lab: LabHandle, protocol: LockProtocol): void {
  describeFault('starvation', lab, protocol, { fault: starve, mutants: starveMutants });
  for (const way of ['to-server', 'to-worker', 'both'] as const) {
    // The injector of one way is that of both.
    const mutants = way === 'both' ? {} : oneWayMutants;
    describeFault(`a cut ${way}`, lab, protocol, { fault: cut, options: { way }, mutants });
  }
}
