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
  /**
   * @param replicas of the server that the run needs; a live target has those that it has
   * @throws {TargetError} when the servers cannot be started
   */
  open(kind: BackendKind, replicas: number, signal: AbortSignal): Promise<Site>;
}
