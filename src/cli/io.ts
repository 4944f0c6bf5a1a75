/** The process as commands see it: streams, terminal facts, and the signal of Ctrl-C. */
import { setMaxListeners } from 'node:events';

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
  /** Colour on stdout: FORCE_COLOR, or a terminal without NO_COLOR and --no-color. */
  readonly color: boolean;
  /** Aborted by the first SIGINT or SIGTERM, and (reason `EPIPE`) when nobody reads stdout any more. */
  readonly signal: AbortSignal;
  /**
   * Until the returned function is called, a second Ctrl-C does not end the process: something must
   * be undone first.
   */
  holdExit(): () => void;
}

/**
 * Opens the real process streams. A closed stdout does not end the process on the spot (an undo
 * may be due): it aborts the signal, and what is still written goes nowhere.
 */
export function processIo(argv: readonly string[]): Io {
  const abort = new AbortController();
  // Every request under way listens to it: more than ten are no leak.
  setMaxListeners(0, abort.signal);
  const stdout = outputStream(process.stdout, () => {
    abort.abort('EPIPE');
  });
  const stderr = outputStream(process.stderr, () => undefined);
  let asked = false;
  let undoing = 0;
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (!asked) abort.abort(name);
      // The second one means it, unless something would be left broken.
      else if (undoing === 0) process.exit(130);
      else void stderr.write('fencepost: still undoing what was done; it ends by itself\n');
      asked = true;
    });
  }
  const env = process.env;
  const outIsTerminal = process.stdout.isTTY;
  return {
    out: (text) => stdout.write(text),
    err: (text) => void stderr.write(text),
    env,
    outIsTerminal,
    errIsTerminal: process.stderr.isTTY,
    // A getter: opening stdin costs milliseconds, and few commands ask.
    get inIsTerminal() {
      return process.stdin.isTTY;
    },
    columns: outIsTerminal ? terminalWidth(env) : undefined,
    color: wantsColor(argv, env, outIsTerminal),
    signal: abort.signal,
    holdExit: () => {
      undoing += 1;
      return () => {
        undoing -= 1;
      };
    },
  };
}

function outputStream(
  stream: NodeJS.WriteStream,
  onClosed: () => void,
): { write(text: string): Promise<void> } {
  let closed = false;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    closed = true;
    onClosed();
    stream.emit('drain');
  });
  return {
    write: (text) =>
      new Promise((resolve) => {
        if (closed || stream.write(text)) resolve();
        else stream.once('drain', resolve);
      }),
  };
}

function terminalWidth(env: Io['env']): number {
  const [fromEnvironment, fromTerminal] = [Number(env['COLUMNS']), process.stdout.columns];
  return fromEnvironment > 0 ? fromEnvironment : fromTerminal > 0 ? fromTerminal : 80;
}

function wantsColor(argv: readonly string[], env: Io['env'], outIsTerminal: boolean): boolean {
  if ((env['NO_COLOR'] ?? '') !== '' || argv.includes('--no-color')) return false;
  const forced = env['FORCE_COLOR'];
  if (forced !== undefined && forced !== '') return forced !== '0' && forced !== 'false';
  return outIsTerminal && env['TERM'] !== 'dumb';
}
