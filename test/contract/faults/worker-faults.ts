/** The faults of a worker that every backend has. */
import { cut } from '../../../src/chaos/faults/cut.ts';
import { delay } from '../../../src/chaos/faults/delay.ts';
import { starve } from '../../../src/chaos/faults/starve.ts';
import type { LockProtocol } from '../../../src/protocols/protocol.ts';
import type { LabHandle } from '../../helpers/servers.ts';
import { describeFault } from '../fault.contract.ts';
import { delayMutants, oneWayMutants, starveMutants } from './mutants.ts';
import { describeSwallows } from './swallows.ts';

/** @param withMutants whether those that are made by the proxies alone have their mutants tried, too */
export function describeWorkerFaults(
  lab: LabHandle,
  protocol: LockProtocol,
  withMutants: boolean,
): void {
  describeFault('starvation', lab, protocol, { fault: starve, mutants: starveMutants });
  for (const way of ['to-server', 'to-worker', 'both'] as const) {
    // The injector of one way is that of both.
    const mutants = way === 'both' ? {} : oneWayMutants;
    describeFault(`a cut ${way}`, lab, protocol, { fault: cut, options: { way }, mutants });
  }
  for (const way of ['to-server', 'to-worker'] as const) {
    const facts = { fault: delay, options: { way, by: '150ms' } };
    const mutants = way === 'to-server' && withMutants ? delayMutants : {};
    describeFault(`a delay ${way}`, lab, protocol, { ...facts, mutants });
  }
  describeSwallows(lab, protocol, withMutants);
}
