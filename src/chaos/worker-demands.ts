/**
 * What a scenario needs of a user's own worker, and the question to that worker before the run
 * touches anything: it is started once, says in `ready` what it honours, and is ended again.
 */
import { UsageError } from '../domain/errors.ts';
import type { Scenario, Step } from '../domain/scenario.ts';
import type { LockProtocol } from '../protocols/protocol.ts';
import { findFault } from './faults/registry.ts';
import { planControl } from './plan.ts';

/** Something a worker must honour, and the part of the scenario that needs it. */
interface Demand {
  readonly honour: string;
  readonly neededBy: string;
}

/**
 * Refuses a scenario that needs what its worker does not honour.
 * @param controls whether they are run; without them no broken variant is asked for
 * @throws {UsageError} `worker-lacks` with every step that cannot be done, and why
 */
export function requireHonoured(
  scenario: Scenario,
  protocol: LockProtocol,
  honours: readonly string[],
  controls: boolean,
): void {
  const lacking = demandsOf(scenario, protocol, controls).filter(
    ({ honour }) => !honours.includes(honour),
  );
  if (lacking.length === 0) return;
  const reasons = lacking.map(
    ({ honour, neededBy }) => `${neededBy} needs "${honour}", which the worker does not honour`,
  );
  throw new UsageError(`scenario ${scenario.name}: ${reasons.join('; ')}`, {
    code: 'worker-lacks',
    hint: 'leave these out, or let the worker do them and name them in "honours" of its ready',
    definite: true,
  });
}

function demandsOf(
  scenario: Scenario,
  protocol: LockProtocol,
  controls: boolean,
): readonly Demand[] {
  const demands = scenario.steps.flatMap(stepDemands);
  if (scenario.lock.renewEveryMs !== undefined) {
    demands.push({ honour: 'renew-timer', neededBy: 'lock.renew' });
  }
  if (protocol.fenced) demands.push({ honour: 'fence', neededBy: `protocol ${protocol.id}` });
  for (const control of controls ? scenario.controls : []) {
    if (planControl(control, protocol).how !== 'protocol') continue;
    demands.push({ honour: 'mutation', neededBy: `control ${control.mutate}` });
  }
  return demands;
}

/** Lock operations that a library may not have; every worker acquires and releases. */
const lockActions: readonly string[] = ['renew', 'confirm'];

function stepDemands(step: Step): Demand[] {
  const honours: string[] = [];
  if (lockActions.includes(step.kind)) honours.push(step.kind);
  if (step.kind === 'business') {
    honours.push(step.action);
    if (step.selfCheck === true) honours.push('self-check');
  }
  if ('park' in step) honours.push(step.park);
  const honour = step.kind === 'fault' ? findFault(step.fault)?.honour : undefined;
  if (honour !== undefined) honours.push(honour);
  const neededBy = `line ${step.line}, step ${step.id}`;
  return honours.map((honour) => ({ honour, neededBy }));
}
