/** Evidence: an observed fact with its source, its time, and what it proves. */

export interface Evidence {
  /** Who observed: `/proc`, `proxy`, `redis TIME`, `observer connection` … never the injector. */
  readonly source: string;
  /** Monotonic nanoseconds since the run began; undefined outside runs. */
  readonly atNs?: bigint;
  /** The fact, for people. */
  readonly fact: string;
  /** What it proves, e.g. `worker A was stopped`. */
  readonly proves: string;
  /** Whether the fact really shows it. Evidence that came out the wrong way is kept, and false. */
  readonly holds: boolean;
}
