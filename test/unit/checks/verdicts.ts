/** Judges one invariant of a built history, for tests. */
import { judge } from '../../../src/checks/judge.ts';
import { parseInvariant } from '../../../src/checks/registry.ts';
import type { History } from '../../../src/domain/event.ts';
import type { InvariantSpec } from '../../../src/domain/scenario.ts';
import type { CheckResult } from '../../../src/domain/verdict.ts';
import type { HistoryBuilder } from '../../helpers/history-builder.ts';

/** The result of `invariant` on the history's only lock. */
export function resultOf(
  built: HistoryBuilder | History,
  invariant: string,
  more: Partial<InvariantSpec> = {},
): CheckResult {
  const history = 'build' in built ? built.build() : built;
  const results = judge(history, [{ ...parseInvariant(invariant), ...more }]);
  const result = results[1];
  if (result === undefined || results.length !== 2) throw new Error('expected one result');
  return result;
}
