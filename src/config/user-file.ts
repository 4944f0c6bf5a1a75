/** Finds a file of the user's: named on the command line, in the environment, or at its usual place. */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { systemCode, UsageError } from '../domain/errors.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface UserFile {
  /** What it is called in errors: `conventions file`. */
  readonly what: string;
  readonly flag: string;
  readonly variable: string;
  /** Its name in `~/.config/fencepost` (XDG_CONFIG_HOME). */
  readonly usual: string;
  /** Code of the error when it cannot be read. */
  readonly code: string;
}

/**
 * The first of the three that is given; never several. Undefined when nobody asked for it and it is
 * not at its usual place.
 * @throws {UsageError} it cannot be read
 */
export async function readUserFile(
  kind: UserFile,
  named: string | undefined,
  env: Environment,
): Promise<{ readonly file: string; readonly text: string } | undefined> {
  const fromEnvironment = env[kind.variable] ?? '';
  const asked = named ?? (fromEnvironment === '' ? undefined : fromEnvironment);
  const file = asked ?? usualPlace(kind, env);
  try {
    return { file, text: await readFile(file, 'utf8') };
  } catch (cause) {
    const code = systemCode(cause, 'unreadable');
    if (asked === undefined && (code === 'ENOENT' || code === 'ENOTDIR')) return undefined;
    throw new UsageError(`cannot read the ${kind.what} "${file}": ${code}`, {
      code: kind.code,
      hint: `name a readable file with ${kind.flag}, or leave it out (also: ${kind.variable})`,
      cause,
      definite: true,
    });
  }
}

/** Where the file is when nobody names it. */
export function usualPlace({ usual }: UserFile, env: Environment): string {
  const config = env['XDG_CONFIG_HOME'] ?? '';
  return join(config === '' ? join(homedir(), '.config') : config, 'fencepost', usual);
}
