/** What ends a run before its last step, and stops its steps at once: Ctrl-C, or its deadline. */
import { formatDuration } from '../domain/duration.ts';
import type { RunOutcome } from '../domain/run-report.ts';

/** How to report what did not finish. */
export interface ToldEnd {
  readonly outcome: RunOutcome;
  readonly problem: string;
}

export const interrupted: ToldEnd = { outcome: 'interrupted', problem: 'interrupted' };

export class EarlyEnd {
  readonly #abort = new AbortController();
  readonly #user: AbortSignal;
  readonly #deadlineMs: number | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #onUser = (): void => {
    this.#abort.abort(this.#user.reason);
  };

  /** @param deadlineMs from now; undefined: none */
  constructor(user: AbortSignal, deadlineMs: number | undefined) {
    this.#user = user;
    this.#deadlineMs = deadlineMs;
    user.addEventListener('abort', this.#onUser, { once: true });
    if (user.aborted) this.#onUser();
    if (deadlineMs !== undefined) {
      this.#timer = setTimeout(() => {
        this.#abort.abort('deadline');
      }, deadlineMs);
    }
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Undefined while nothing has ended the run. */
  get told(): ToldEnd | undefined {
    if (!this.signal.aborted) return undefined;
    if (this.signal.reason !== 'deadline') return interrupted;
    const after = formatDuration(this.#deadlineMs ?? 0);
    return {
      outcome: 'inconclusive',
      problem: `not finished: the run's deadline of ${after} was over`,
    };
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#user.removeEventListener('abort', this.#onUser);
  }
}
