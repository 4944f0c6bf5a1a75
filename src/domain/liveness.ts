/** Joins a renewal sample and the owner's evidence into one verdict about the holder. Pure. */
import type { OwnerEvidence } from './lock.ts';
import type { RenewalSample } from './lease.ts';
import { valueOf } from './known.ts';

export type LivenessVerdict = 'alive' | 'likely-alive' | 'undecided' | 'likely-dead' | 'dead';

export interface Liveness {
  readonly verdict: LivenessVerdict;
  /** Sentences, strongest first. */
  readonly reasons: readonly string[];
}

/**
 * `alive` needs a renewal seen or a server that says so; `likely-dead` needs a full window without
 * one, or evidence that points there and none that contradicts. Contradiction is `undecided`.
 */
export function judgeLiveness(
  evidence: readonly OwnerEvidence[],
  sample: RenewalSample | undefined,
): Liveness {
  const reasons = sample === undefined ? [] : [sample.note];
  for (const item of evidence) {
    reasons.push(
      item.finding.kind === 'unknown'
        ? `${item.name}: unknown, ${item.finding.reason}`
        : `${item.name}: ${item.finding.value} (${item.source})`,
    );
  }
  return { verdict: decide(evidence, sample), reasons };
}

function decide(
  evidence: readonly OwnerEvidence[],
  sample: RenewalSample | undefined,
): LivenessVerdict {
  const outcome = sample?.outcome;
  if (outcome === 'renewed') return 'alive';
  if (outcome === 'gone' || outcome === 'changed-hands') return 'undecided';
  const { alive, dead: deadByEvidence } = strongestPoints(evidence);
  const dead = deadByEvidence ?? (silentForLongEnough(sample) ? 'likely-dead' : undefined);
  if (alive !== undefined && dead !== undefined) return 'undecided';
  return alive ?? dead ?? 'undecided';
}

function strongestPoints(evidence: readonly OwnerEvidence[]): {
  alive: 'alive' | 'likely-alive' | undefined;
  dead: 'dead' | 'likely-dead' | undefined;
} {
  const points = new Set(evidence.map((item) => item.points));
  const first = <P extends OwnerEvidence['points']>(...order: P[]): P | undefined =>
    order.find((point) => points.has(point));
  return { alive: first('alive', 'likely-alive'), dead: first('dead', 'likely-dead') };
}

/** A window shorter than needed can show life, never death. */
function silentForLongEnough(sample: RenewalSample | undefined): boolean {
  if (sample?.outcome !== 'not-renewed') return false;
  const neededMs = valueOf(sample.neededMs);
  return neededMs !== undefined && sample.windowMs >= neededMs;
}
