/** Runs the built program as a child process, as a user's shell would. */
import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { shellQuote } from '../../src/reports/escape.ts';

/** The file that `npx fencepost` runs. */
export const program = fileURLToPath(new URL('../../bin/fencepost.js', import.meta.url));

export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  /** Undefined when a signal ended it. */
  readonly code: number | undefined;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ran>;
}

type Environment = Readonly<Record<string, string>>;

/** Runs `fencepost ARGS` to its end without a terminal; `env` is added to ours. */
export function fencepost(args: readonly string[], env: Environment = {}): Promise<Ran> {
  return startFencepost(args, env).ended;
}

/** Starts `fencepost ARGS` without a terminal. */
export function startFencepost(args: readonly string[], env: Environment = {}): Running {
  return start(process.execPath, [program, ...args], env);
}

/** Runs a line of bash, in which `fencepost` is the built program. */
export function inShell(line: string, env: Environment = {}): Promise<Ran> {
  const node = shellQuote(process.execPath);
  const defined = `fencepost() { ${node} ${shellQuote(program)} "$@"; }\n`;
  return start('bash', ['--norc', '-c', defined + line], env).ended;
}

export interface Terminal {
  readonly columns?: number;
  readonly env?: Environment;
  /** Typed once the screen shows `after`; without it nobody sits at the keyboard. */
  readonly typed?: { readonly after: string; readonly keys: string };
}

/** Runs `fencepost ARGS` on a terminal: stdout holds what the screen shows, both streams. */
export function onTerminal(
  args: readonly string[],
  { columns = 80, env = {}, typed }: Terminal = {},
): Promise<Ran> {
  const command = [process.execPath, program, ...args].map(shellQuote).join(' ');
  const line = `stty cols ${columns}; exec ${command}`;
  const terminal = { TERM: 'xterm', ...env };
  const { child, ended } = start('script', ['-qec', line, '/dev/null'], terminal, typed);
  if (typed !== undefined) {
    let screen = '';
    child.stdout?.on('data', (text: string) => {
      const before = screen.includes(typed.after);
      screen += text;
      if (!before && screen.includes(typed.after)) child.stdin?.write(typed.keys);
    });
  }
  return ended;
}

function start(
  file: string,
  args: readonly string[],
  env: Environment,
  typed?: Terminal['typed'],
): Running {
  const child = spawn(file, args, {
    env: { ...process.env, ...noColorWishes, ...env },
    stdio: [typed === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<Ran>((resolve, reject) => {
    child.once('error', reject).once('close', (code) => {
      resolve({ stdout, stderr, code: code ?? undefined });
    });
  });
  return { child, ended };
}

/** The test runner asks for colour, or against it: neither is the user's wish. */
const noColorWishes = { NO_COLOR: undefined, FORCE_COLOR: undefined, COLUMNS: undefined };
