/** Where the lock service of a run comes from: throwaway servers, or a live target. */
import type { BackendKind, Target } from '../../domain/target.ts';
import type { ProcessIdentity } from '../../processes/process-evidence.ts';

/** A lock service to run one cell on. */
export interface Site {
  readonly target: Target;
  /** Its servers end with the run, and nothing in them needs to be cleaned up. */
  readonly throwaway: boolean;
  /** Binds a worker's process group to the servers: it is killed with them, also when stopped. */
  adopt(group: ProcessIdentity): void;
  /** Idempotent. */
  close(): Promise<void>;
}

export interface Driver {
  /** @throws {TargetError} when the servers cannot be started */
  open(kind: BackendKind, signal: AbortSignal): Promise<Site>;
}
