/** Runs the built program as a child process, as a user's shell would. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../bin/fencepost.js', import.meta.url));

export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  /** Undefined when a signal ended it. */
  readonly code: number | undefined;
}

/** Runs `fencepost ARGS` to its end without a terminal; `env` is added to ours. */
export function fencepost(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (code) => {
      resolve({ stdout, stderr, code: code ?? undefined });
    });
  });
}
