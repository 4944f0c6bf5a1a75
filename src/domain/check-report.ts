/** The result of `fencepost check`: histories of any program, judged offline. Plain JSON data. */
import type { CheckResult, Verdict } from './verdict.ts';

export interface JudgedResult extends CheckResult {
  /** The witness's events as lines for people. */
  readonly witnessLines: readonly string[];
  /** The invariant was asked for by name: not to be exercised is then no pass. */
  readonly named: boolean;
}

export interface JudgedHistory {
  readonly file: string;
  readonly events: number;
  readonly locks: number;
  /** What was filled in or assumed while reading. */
  readonly notes: readonly string[];
  readonly results: readonly JudgedResult[];
  /** Of the whole history; `not-exercised` where nothing was put to the test. */
  readonly verdict: Verdict;
}
