/** Verdicts of invariants, and how they join. */

export type Verdict = 'held' | 'violated' | 'not-exercised' | 'inconclusive';

const rank: Readonly<Record<Verdict, number>> = {
  violated: 3,
  inconclusive: 2,
  'not-exercised': 1,
  held: 0,
};

/** violated > inconclusive > not exercised > held. Joining nothing is `not-exercised`, never a pass. */
export function joinVerdicts(verdicts: readonly Verdict[]): Verdict {
  return (
    verdicts.reduce<Verdict | undefined>(
      (worst, next) => (worst === undefined || rank[next] > rank[worst] ? next : worst),
      undefined,
    ) ?? 'not-exercised'
  );
}

/** What a checker returns. */
export interface CheckResult {
  /** Invariant name, e.g. `mutual-exclusion:service`. */
  readonly invariant: string;
  readonly lock?: string;
  readonly verdict: Verdict;
  /** Fewest events (by seq) that show the violation, in order. Empty unless violated. */
  readonly witness: readonly number[];
  /** How often the history put the invariant to the test. */
  readonly exercised: number;
  /** One sentence for people. */
  readonly note: string;
}
