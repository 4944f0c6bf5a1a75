/** Judges a history: our own assumptions first, then each invariant, each on its own. */
import type { History } from '../domain/event.ts';
import type { InvariantSpec } from '../domain/scenario.ts';
import type { CheckResult } from '../domain/verdict.ts';
import { checkAssumptions, type Assumptions } from './assumptions.ts';
import type { IndexOptions } from './build-grants.ts';
import { buildIndex } from './build-index.ts';
import { invariantName } from './conclude.ts';
import type { HistoryIndex } from './history.ts';
import { findChecker } from './registry.ts';

export type JudgeOptions = IndexOptions;

/**
 * One result for the assumptions, then one for each invariant and lock, in the order given. Never
 * throws over a history: a checker that fails, or whose assumptions are broken, is inconclusive.
 * Unknown invariant names are the caller's to refuse (see `parseInvariant`); here they are
 * inconclusive as well.
 */
export function judge(
  history: History,
  invariants: readonly InvariantSpec[],
  options: JudgeOptions = {},
): readonly CheckResult[] {
  const index = buildIndex(history, options);
  const assumptions = checkAssumptions(history, index);
  const results = invariants.flatMap((spec) => judgeOne(index, spec));
  return [assumptions.result, ...results.map((result) => distrust(result, assumptions))];
}

function judgeOne(index: HistoryIndex, spec: InvariantSpec): readonly CheckResult[] {
  const checker = findChecker(spec.name);
  if (checker === undefined) return [inconclusive(spec, `no checker is called "${spec.name}"`)];
  try {
    return checker.check(index, spec);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [inconclusive(spec, `the checker failed: ${reason}`)];
  }
}

function inconclusive(spec: InvariantSpec, note: string): CheckResult {
  const invariant = invariantName(spec);
  return { invariant, verdict: 'inconclusive', witness: [], exercised: 0, note };
}

/** A verdict that rests on a broken assumption is none: events may be missing, or mean another thing. */
function distrust(result: CheckResult, assumptions: Assumptions): CheckResult {
  const reason = assumptions.broken ?? assumptions.brokenLocks.get(result.lock ?? '');
  if (reason === undefined) return result;
  const what = result.verdict === 'violated' ? `possible violation (${result.note}); ` : '';
  return {
    ...result,
    verdict: 'inconclusive',
    witness: [],
    note: `${what}an assumption does not hold: ${reason}`,
  };
}
