/** Where the lock service of a run comes from: throwaway servers, or a live target. */
import type { BackendKind, Endpoint, Target } from '../../domain/target.ts';
import type { ProcessIdentity } from '../../processes/process-evidence.ts';

/** Servers that a fault may end. */
export interface SiteServers {
  readonly all: readonly { readonly name: string; readonly endpoint: Endpoint }[];
  /** SIGKILL. */
  kill(name: string): Promise<void>;
  /** The address of a killed server leads to another one from now on, as a virtual address moves. */
  moveAddress(from: Endpoint, to: Endpoint): Promise<void>;
}

export interface ServerLog {
  /** Name of the server. */
  readonly name: string;
  readonly file: string;
}

/** A lock service to run one cell on. */
export interface Site {
  /** Undefined: they are not ours, and only workers can be hit. */
  readonly servers?: SiteServers;
  readonly target: Target;
  /** Its servers end with the run, and nothing in them needs to be cleaned up. */
  readonly throwaway: boolean;
  /** Binds a worker's process group to the servers: it is killed with them, also when stopped. */
  adopt(group: ProcessIdentity): void;
  /** Log files of its servers, there until it is closed; none for servers that are not ours. */
  readonly logs: readonly ServerLog[];
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
