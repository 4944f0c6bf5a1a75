/** What commander hands to the action of `ls`. */
import type { TargetOptions } from '../target-options.ts';

export interface ListOptions extends TargetOptions {
  readonly all?: boolean;
  readonly pattern?: readonly string[];
  readonly convention?: readonly string[];
  readonly state?: readonly string[];
  readonly rate?: number;
  readonly limit?: number;
  readonly headers: boolean;
  readonly output: string;
  /** File of a capture to write. */
  readonly save?: string;
  readonly force?: boolean;
  /** A capture to list instead of a target. */
  readonly from?: string;
  /** A capture to compare with. */
  readonly diff?: string;
}
