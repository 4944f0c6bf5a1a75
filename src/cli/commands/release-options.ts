/** What commander hands to the action of `release`. */
import type { TargetOptions } from '../target-options.ts';

export interface ReleaseCommandOptions extends TargetOptions {
  readonly execute?: true;
  readonly expect?: string;
  readonly confirm?: string;
  readonly override?: readonly string[];
  readonly reason?: string;
  readonly convention?: string;
  readonly observe: number | 'auto' | 'off';
  readonly hold?: number;
  readonly endSession?: true;
  readonly fenceFloor?: string;
  readonly verify: number;
  readonly waitExpiry?: true;
  readonly auditLog?: string;
  readonly output: string;
}
