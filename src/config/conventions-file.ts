/** Finds a team's conventions file and makes conventions of it. */
import { noConventions, type OwnConventions } from '../conventions/convention-set.ts';
import { readUserFile, type Environment, type UserFile } from './user-file.ts';

const conventionsFile: UserFile = {
  what: 'conventions file',
  flag: '--conventions',
  variable: 'FENCEPOST_CONVENTIONS',
  usual: 'conventions.yaml',
  code: 'conventions-file',
};

/**
 * The conventions of the file that was named, else of FENCEPOST_CONVENTIONS, else of
 * `~/.config/fencepost/conventions.yaml` (XDG_CONFIG_HOME) where there is one. Never of several.
 * @throws {UsageError} the file cannot be read @throws {InputFileError} it is not as it should be
 */
export async function loadConventions(
  named: string | undefined,
  env: Environment,
): Promise<OwnConventions> {
  const found = await readUserFile(conventionsFile, named, env);
  if (found === undefined) return noConventions;
  // Decoders and schema are only needed where there is a file.
  const [{ parseConventions }, { builtInConventions }, { toConventions }] = await Promise.all([
    import('./conventions-schema.ts'),
    import('./catalogue.ts'),
    import('./own-conventions.ts'),
  ]);
  const taken = (system: keyof OwnConventions): readonly string[] =>
    builtInConventions[system].map(({ id }) => id);
  return toConventions(parseConventions(found.text, found.file, taken));
}
