/** Finds the config file and gives the contexts that were named. */
import type { OwnConventions } from '../conventions/convention-set.ts';
import { UsageError } from '../domain/errors.ts';
import { globMatcher } from '../domain/glob.ts';
import { nearestName } from '../domain/nearest.ts';
import { stringToText } from '../domain/text.ts';
import type { Context } from './contexts-schema.ts';
import { readUserFile, usualPlace, type Environment, type UserFile } from './user-file.ts';

const configFile: UserFile = {
  what: 'config file',
  flag: '--config',
  variable: 'FENCEPOST_CONFIG',
  usual: 'config.yaml',
  code: 'config-file',
};

/**
 * All contexts of the file that was named, else of FENCEPOST_CONFIG, else of
 * `~/.config/fencepost/config.yaml` (XDG_CONFIG_HOME); none where there is no file.
 * @throws {UsageError} the file cannot be read @throws {InputFileError} it is not as it should be
 */
export async function loadContexts(
  named: string | undefined,
  env: Environment,
): Promise<ReadonlyMap<string, Context>> {
  const found = await readUserFile(configFile, named, env);
  if (found === undefined) return new Map();
  const { parseContexts } = await import('./contexts-schema.ts');
  return parseContexts(found.text, found.file);
}

/** @throws {UsageError} `unknown-context`, with the nearest name or all of them */
export function contextNamed(
  name: string,
  contexts: ReadonlyMap<string, Context>,
  env: Environment,
): Context {
  const context = contexts.get(name);
  if (context !== undefined) return context;
  const known = [...contexts.keys()];
  const near = nearestName(name, known);
  const all =
    known.length === 0
      ? `write it into ${usualPlace(configFile, env)}, or name a file with --config`
      : `known: ${known.join(', ')}`;
  throw new UsageError(`there is no context "${name}"`, {
    code: 'unknown-context',
    hint: near === undefined ? all : `did you mean "${near}"?`,
    definite: true,
  });
}

/**
 * Refuses patterns of a context that fit no convention: with a misspelt one, locks would go
 * unrecognised without a word.
 * @throws {UsageError} `unknown-convention`
 */
export async function checkPatterns(
  patterns: readonly string[],
  own: OwnConventions,
): Promise<void> {
  const { allConventions } = await import('./catalogue.ts');
  const ids = allConventions(own).map(({ id }) => id);
  const wrong = patterns.find((one) => !ids.map(stringToText).some(globMatcher([one])));
  if (wrong === undefined) return;
  const near = nearestName(wrong, ids);
  throw new UsageError(`the context’s "${wrong}" fits no lock layout that is known`, {
    code: 'unknown-convention',
    hint: near === undefined ? '`fencepost conventions` lists them all' : `did you mean "${near}"?`,
    definite: true,
  });
}
