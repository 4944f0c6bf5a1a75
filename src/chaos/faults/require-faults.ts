/** Refuses, before anything is touched, a scenario whose faults cannot be had where it shall run. */
import { UsageError } from '../../domain/errors.ts';
import type { Scenario } from '../../domain/scenario.ts';
import type { Fault, FaultPlace } from './fault.ts';

/** @throws {UsageError} `fault-unavailable` with every step whose fault cannot be had, and why */
export function requireFaults(
  scenario: Scenario,
  place: FaultPlace,
  findFault: (name: string) => Fault | undefined,
): void {
  const reasons = scenario.steps.flatMap((step) => {
    if (step.kind !== 'fault') return [];
    const why = findFault(step.fault)?.unavailable?.(place);
    return why === undefined ? [] : [`line ${step.line}, ${step.fault}: ${why}`];
  });
  if (reasons.length === 0) return;
  throw new UsageError(
    `scenario ${scenario.name} cannot run with protocol ${place.protocol.id}: ${reasons.join('; ')}`,
    {
      code: 'fault-unavailable',
      hint: 'run it on another target, or leave these steps out',
      definite: true,
    },
  );
}
