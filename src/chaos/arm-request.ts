/** What one execution of a scenario is asked to do, and what the run lends to it. */
import type { StepReport } from '../domain/run-report.ts';
import type { Scenario } from '../domain/scenario.ts';
import type { Target } from '../domain/target.ts';
import type { ProcessIdentity } from '../processes/process-evidence.ts';
import type { LockProtocol } from '../protocols/protocol.ts';
import type { SiteServers } from './drivers/driver.ts';
import type { Fault } from './faults/fault.ts';
import type { UndoJournal } from './undo-journal.ts';

export interface ArmRequest {
  readonly scenario: Scenario;
  /** `main`, or the mutation role of a control. */
  readonly arm: string;
  readonly mutation: string | undefined;
  readonly protocol: LockProtocol;
  readonly target: Target;
  /** The server ends with the run. */
  readonly throwaway: boolean;
  /** Whether the run has controls. */
  readonly controls: boolean;
  /** Those that faults may end; undefined: none. */
  readonly servers: SiteServers | undefined;
  readonly resourceUrl: string | undefined;
  readonly seed: string;
  readonly runId: string;
  readonly tool: string;
  /** Where its files go, and how the report names it. */
  readonly folder: string;
  readonly folderName: string;
}

/** What a run lends to its arms. */
export interface ArmContext {
  readonly journal: UndoJournal;
  readonly signal: AbortSignal;
  readonly findFault: (name: string) => Fault | undefined;
  /** Binds a worker's process group to the throwaway servers. */
  readonly adopt: (group: ProcessIdentity) => void;
  /** Resolves when the script may begin. */
  readonly onReady: () => Promise<void>;
  readonly onStep: (step: StepReport) => void;
}
