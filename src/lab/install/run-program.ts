/** Runs a program of the system to its end and gives its output, or its last words. */
import { execFile } from 'node:child_process';
import { Interrupted, TargetError } from '../../domain/errors.ts';
import { bytesToText } from '../../domain/text.ts';

export interface RunOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs `file` without a shell; returns stdout and stderr joined (some print their version on
 * stderr). Messages are in English, whatever the user's language: they are parsed.
 * @throws {TargetError} `program-failed` with the end of its output
 */
export function runProgram(
  file: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const env = { ...process.env, ...options.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' };
  return new Promise((resolve, reject) => {
    execFile(
      file,
      args,
      {
        env,
        cwd: options.cwd,
        signal: options.signal,
        maxBuffer: 64 * 1024 * 1024,
        encoding: 'buffer',
      },
      (error, stdout, stderr) => {
        if (error === null) {
          resolve(stdout.toString() + stderr.toString());
        } else if (options.signal?.aborted === true) {
          reject(new Interrupted('interrupted', { code: 'interrupted', cause: error }));
        } else {
          reject(failure(file, args, error, Buffer.concat([stdout, stderr])));
        }
      },
    );
  });
}

function failure(
  file: string,
  args: readonly string[],
  cause: Error,
  output: Uint8Array,
): TargetError {
  const tail = bytesToText(output).split('\\n').slice(-9).join('\n').trim();
  const shown = [file, args.find((arg) => !arg.startsWith('-') && !arg.includes('='))].join(' ');
  return new TargetError(`${shown.trim()} failed`, {
    code: 'program-failed',
    hint: tail === '' ? cause.message : tail,
    cause,
  });
}
