/** The process as commands see it: streams, terminal facts, and the signal of Ctrl-C. */

export interface Io {
  /** Data. Resolves when the stream can take more (back-pressure). */
  out(text: string): Promise<void>;
  /** Progress and notes. */
  err(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** stdout is a terminal. */
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  /** stdin is a terminal: only then may a question be asked. */
  readonly inIsTerminal: boolean;
  /** Terminal width, or undefined when stdout is not a terminal. */
  readonly columns: number | undefined;
  /** Colour on stdout: a terminal, no NO_COLOR, no --no-color. */
  readonly color: boolean;
  /** Aborted by the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
}

/** Opens the real process streams. A closed pipe ends the program quietly with code 0. */
export function processIo(argv: readonly string[]): Io {
  const abort = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      abort.abort(name);
    });
  }
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(0);
      throw error;
    });
  }
  const noColor = (process.env['NO_COLOR'] ?? '') !== '' || argv.includes('--no-color');
  return {
    out: (text) => writeOut(text),
    err: (text) => void process.stderr.write(text),
    env: process.env,
    outIsTerminal: process.stdout.isTTY,
    errIsTerminal: process.stderr.isTTY,
    inIsTerminal: process.stdin.isTTY,
    columns: process.stdout.isTTY ? process.stdout.columns : undefined,
    color: process.stdout.isTTY && !noColor,
    signal: abort.signal,
  };
}

function writeOut(text: string): Promise<void> {
  return new Promise((resolve) => {
    if (process.stdout.write(text)) resolve();
    else process.stdout.once('drain', resolve);
  });
}
