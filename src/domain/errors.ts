/** The errors of fencepost: a stable code, one sentence with the value, a hint, one exit code. */

/** Exit codes, the same for every command. */
export const exitCodes = {
  ok: 0,
  violated: 1,
  usage: 2,
  inconclusive: 3,
  target: 4,
  refused: 5,
  changed: 6,
  undo: 7,
  bug: 70,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export interface ErrorDetails {
  /** Stable kebab-case code for machines, e.g. `target-unreachable`. */
  readonly code: string;
  /** What to do next, one or two lines. */
  readonly hint?: string;
  readonly cause?: unknown;
  /** Whether the failed operation surely had no effect on the server. Default false. */
  readonly definite?: boolean;
}

/** Base of every expected failure. `message` says what happened, with the offending value. */
export class FencepostError extends Error {
  readonly code: string;
  readonly hint: string | undefined;
  readonly definite: boolean;
  readonly exitCode: ExitCode = exitCodes.bug;

  constructor(message: string, details: ErrorDetails) {
    super(message, { cause: details.cause });
    this.name = new.target.name;
    this.code = details.code;
    this.hint = details.hint;
    this.definite = details.definite ?? false;
  }
}

/** Bad flag, bad URL, bad name: nothing was touched. */
export class UsageError extends FencepostError {
  override readonly exitCode = exitCodes.usage;
}

export interface SourcePosition {
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  /** 1-based. */
  readonly column: number;
}

/** An input file (scenario, history, configuration) is malformed at a known place. */
export class InputFileError extends FencepostError {
  override readonly exitCode = exitCodes.usage;
  readonly position: SourcePosition;

  constructor(message: string, position: SourcePosition, details: ErrorDetails) {
    super(`${position.file}:${position.line}:${position.column}: ${message}`, details);
    this.position = position;
  }
}

/** The target could not be reached, or answered with something that is not its protocol. */
export class TargetError extends FencepostError {
  override readonly exitCode = exitCodes.target;
}

/** The target refused us: wrong password, or an account that may not do this. */
export class PermissionError extends FencepostError {
  override readonly exitCode = exitCodes.target;
}

/** A guard refused the release; nothing was deleted. */
export class GuardRefused extends FencepostError {
  override readonly exitCode = exitCodes.refused;
}

/** The lock changed hands or was gone before we acted; nothing was deleted. */
export class LockChanged extends FencepostError {
  override readonly exitCode = exitCodes.changed;
}

/** A fault could not be applied or not be proven: the run is inconclusive. */
export class FaultNotApplied extends FencepostError {
  override readonly exitCode = exitCodes.inconclusive;
}

/** Something could not be undone: `fencepost heal`. */
export class UndoFailed extends FencepostError {
  override readonly exitCode = exitCodes.undo;
}

/** SIGINT or SIGTERM; everything was undone first. */
export class Interrupted extends FencepostError {
  override readonly exitCode = exitCodes.interrupted;
}

/** A state that our own code promised could not occur. */
export class InternalError extends FencepostError {
  override readonly exitCode = exitCodes.bug;
}

/** What the system calls a failure, as `ENOENT`; `otherwise` where the error carries no code. */
export function systemCode(error: unknown, otherwise: string): string {
  return error instanceof Error && 'code' in error ? String(error.code) : otherwise;
}
