/** Finds a team's conventions file and makes conventions of it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { homedir } from 'node:os';
import { noConventions, type OwnConventions } from '../conventions/convention-set.ts';
import { UsageError } from '../domain/errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The conventions of the file that was named, else of FENCEPOST_CONVENTIONS, else of
 * `~/.config/fencepost/conventions.yaml` (XDG_CONFIG_HOME) where there is one. Never of several.
 * @throws {UsageError} the file cannot be read @throws {InputFileError} it is not as it should be
 */
export async function loadConventions(
  named: string | undefined,
  env: Environment,
): Promise<OwnConventions> {
  const fromEnvironment = env['FENCEPOST_CONVENTIONS'] ?? '';
  const asked = named ?? (fromEnvironment === '' ? undefined : fromEnvironment);
  const file = asked ?? usualFile(env);
  const text = await read(file, asked !== undefined);
  if (text === undefined) return noConventions;
  // Decoders and schema are only needed where there is a file.
  const [{ parseConventions }, { builtInConventions }, { toConventions }] = await Promise.all([
    import('./conventions-schema.ts'),
    import('./catalogue.ts'),
    import('./own-conventions.ts'),
  ]);
  const taken = (system: keyof OwnConventions): readonly string[] =>
    builtInConventions[system].map(({ id }) => id);
  return toConventions(parseConventions(text, file, taken));
}

function usualFile(env: Environment): string {
  const config = env['XDG_CONFIG_HOME'] ?? '';
  return join(config === '' ? join(homedir(), '.config') : config, 'fencepost', 'conventions.yaml');
}

/** Undefined when nobody asked for the file and it is not there. */
async function read(file: string, asked: boolean): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
    if (!asked && (code === 'ENOENT' || code === 'ENOTDIR')) return undefined;
    throw new UsageError(`cannot read the conventions file "${file}": ${code}`, {
      code: 'conventions-file',
      hint: 'name a readable file with --conventions, or leave it out (also: FENCEPOST_CONVENTIONS)',
      cause,
      definite: true,
    });
  }
}
