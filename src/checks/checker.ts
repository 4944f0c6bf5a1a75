/** The shape of an invariant checker: a pure function over a history. A throw is inconclusive. */
import type { CheckResult } from '../domain/verdict.ts';
import type { InvariantSpec } from '../domain/scenario.ts';
import type { HistoryIndex } from './history.ts';

export interface Checker {
  /** Name used in scenario files, e.g. `no-stale-write-accepted`. */
  readonly name: string;
  /** One line for `--help` and reports. */
  readonly title: string;
  /** Levels it distinguishes, the default first. */
  readonly levels?: readonly string[];
  /** Judged only when named. */
  readonly onRequest?: boolean;
  /** One result for each lock that the history names; never an empty list. */
  check(history: HistoryIndex, spec: InvariantSpec): readonly CheckResult[];
}
