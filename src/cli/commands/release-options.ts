/** What commander hands to the action of `release`. */
import type { LockRefOptions } from '../lock-ref.ts';
import type { TargetOptions } from '../target-options.ts';

export interface ReleaseCommandOptions extends TargetOptions, LockRefOptions {
  readonly execute?: true;
  readonly expect?: string;
  readonly confirm?: string;
  readonly override?: readonly string[];
  readonly reason?: string;
  readonly observe: number | 'auto' | 'off';
  readonly hold?: number;
  readonly endSession?: true;
  readonly fenceFloor?: string;
  readonly notify?: string;
  readonly verify: number;
  readonly waitExpiry?: true;
  readonly auditLog?: string;
  readonly output: string;
}
