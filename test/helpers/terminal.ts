/** Runs the built program in a real pseudo-terminal, made by `script` (util-linux, bsdutils). */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { shellQuote } from '../../src/reports/escape.ts';
import { until } from './until.ts';

const program = fileURLToPath(new URL('../../bin/fencepost.js', import.meta.url));

export interface TerminalSession {
  /** Everything shown so far: stdout, stderr and the echo of what was typed. */
  shown(): string;
  /** Waits until the screen shows this. */
  shows(text: string): Promise<void>;
  /** Types keys; `\r` is Enter, `\u0003` Ctrl-C, `\u0004` end of input. */
  type(keys: string): void;
  /** Exit code of the program, once it has ended. */
  ended(): Promise<number>;
}

/** Starts `fencepost ARGS` on a terminal. */
export function onTerminal(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): TerminalSession {
  const line = [process.execPath, program, ...args].map(shellQuote).join(' ');
  const child = spawn('script', ['-qfec', line, '/dev/null'], {
    env: { ...process.env, NO_COLOR: '1', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject).once('close', (code) => {
      resolve(code ?? -1);
    });
  });
  return {
    shown: () => shown,
    async shows(text) {
      await until(`the terminal shows "${text}"`, () => shown.includes(text), 20_000).catch(
        (error: unknown) => {
          throw new Error(`${String(error)}; it shows:\n${shown}`);
        },
      );
    },
    type: (keys) => void child.stdin.write(keys),
    ended: () => ended,
  };
}
