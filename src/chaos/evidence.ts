/**
 * What must be there before a green verdict means anything: faults proven, operations that really
 * happened, dangerous ones that really arrived, readers that really read. Pure.
 */
import type { FaultReport, StepReport } from '../domain/run-report.ts';
import type { Scenario } from '../domain/scenario.ts';
import type { LedgerRow } from '../resources/resource.ts';
import type { Performed } from './script.ts';

export interface ArmFacts {
  readonly scenario: Scenario;
  readonly steps: readonly StepReport[];
  readonly faults: readonly FaultReport[];
  readonly performed: readonly Performed[];
  /** Undefined when the ledger could not be read after quiescence. */
  readonly ledger: readonly LedgerRow[] | undefined;
  /** Grants by the service's own record; undefined when they could not be read. */
  readonly grantOwners: readonly string[] | undefined;
  /** Owners whose lease ran out by the service's own clock. */
  readonly expiredOwners: readonly string[];
  readonly schedulerLagMs: number;
  readonly leaseMs: number;
  readonly machine: string;
  /** Other things that went wrong on the way. */
  readonly notes: readonly string[];
}

/** Why a run proves less than it should; empty when nothing is missing. */
export function missingEvidence(facts: ArmFacts): readonly string[] {
  return [
    ...facts.notes,
    ...stepProblems(facts.steps),
    ...faultProblems(facts),
    ...operationProblems(facts),
    ...ownerProblems(facts),
    ...lagProblems(facts),
  ];
}

function stepProblems(steps: readonly StepReport[]): readonly string[] {
  const wrong = steps
    .filter(({ status }) => status === 'failed' || status === 'mismatch')
    .map(({ id, line, note }) => `step ${id} (line ${line}): ${note}`);
  const missed = steps.filter(({ status }) => status === 'not-reached').length;
  return missed === 0 ? wrong : [...wrong, `${missed} steps were not reached`];
}

function faultProblems({ faults }: ArmFacts): readonly string[] {
  return faults.flatMap(({ id, fault, proven, endedAtMs, evidence }) => {
    if (proven) return [];
    const wrong = evidence.find(({ holds }) => !holds);
    const why = wrong?.fact ?? (endedAtMs === undefined ? 'it did not end' : 'no evidence');
    return [`fault ${fault} (${id}) is not proven: ${why}`];
  });
}

/** Codes of a worker that sent nothing, and says so. */
const keptBack: readonly string[] = ['self-check', 'no-grant'];

/** Each kind of operation answered ok once; each refusal that the script names, seen. */
function operationProblems({ scenario, performed, ledger, steps }: ArmFacts): readonly string[] {
  if (steps.some(({ status }) => status === 'not-reached')) return [];
  const problems: string[] = [];
  const refusedOnly = new Set<string>(
    scenario.steps.flatMap((step) =>
      'expect' in step && step.expect.outcome !== 'ok' && step.kind !== 'go' ? [step.kind] : [],
    ),
  );
  const kinds = new Set(performed.map(({ step }) => step.kind));
  for (const kind of kinds) {
    const some = performed.some(
      ({ step, result }) => step.kind === kind && result.outcome === 'ok',
    );
    if (!some && !refusedOnly.has(kind)) problems.push(`no ${kind} was ever answered ok`);
  }
  if (ledger === undefined) return [...problems, 'the ledger could not be read at the end'];
  for (const { step, result } of performed) {
    if (step.kind !== 'business' || keptBack.includes(result.code ?? '')) continue;
    if (result.outcome === 'unknown') continue;
    const arrived = ledger.some(({ requestId }) => requestId.startsWith(`${step.id}/`));
    if (!arrived) problems.push(`step ${step.id}: its request never reached the resource`);
  }
  return problems;
}

function ownerProblems({ scenario, grantOwners, steps }: ArmFacts): readonly string[] {
  if (grantOwners === undefined) return ["the service's own grants could not be read at the end"];
  const wanted = new Set(
    scenario.steps.flatMap((step) => (step.kind === 'acquire' ? [step.worker] : [])),
  ).size;
  const seen = new Set(grantOwners).size;
  const complete = steps.every(({ status }) => status !== 'not-reached');
  if (!complete || seen >= Math.min(2, wanted)) return [];
  return [`the service granted the lock to ${seen} owners only`];
}

/** On a slow machine a healthy holder's lease runs out, and everything after it means nothing. */
function lagProblems(facts: ArmFacts): readonly string[] {
  const { schedulerLagMs, leaseMs, machine, performed, faults, expiredOwners } = facts;
  const struck = new Set(faults.map(({ target }) => target));
  const unforeseen = performed.flatMap(({ step, op }) => {
    const expired = op.action === 'acquire' && expiredOwners.includes(op.owner);
    return expired && 'worker' in step && !struck.has(step.worker) ? [step.worker] : [];
  });
  const lost = unforeseen.map(
    (worker) =>
      `the lease of ${worker} ran out although nothing held it up: ` +
      `${machine} is too slow for a lease of ${leaseMs} ms`,
  );
  if (schedulerLagMs <= leaseMs / 4) return lost;
  return [
    ...lost,
    `${machine} ran ${schedulerLagMs} ms late, more than a quarter of the lease (${leaseMs} ms)`,
  ];
}
