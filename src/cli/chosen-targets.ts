/** Which lock services a command asks: URLs or contexts of the command line, or FENCEPOST_TARGET. */
import { contextNamed, loadContexts } from '../config/contexts-file.ts';
import { UsageError } from '../domain/errors.ts';
import { parseTarget, type Target } from '../domain/target.ts';
import type { Io } from './io.ts';
import { givenPassword, withOwnPassword, withPassword, type PasswordOptions } from './passwords.ts';

export interface ChoiceOptions extends PasswordOptions {
  readonly target?: readonly string[];
  readonly context?: readonly string[];
  /** File of contexts. */
  readonly config?: string;
}

export interface ChosenTarget {
  readonly target: Target;
  /** Globs of the conventions that its context restricts to. */
  readonly conventions: readonly string[] | undefined;
}

/**
 * The targets in the order given, with their passwords. FENCEPOST_TARGET counts where the command
 * line names none, its URLs separated by spaces.
 * @throws {UsageError} no target, a bad URL, no such context, both kinds named, an unreadable file
 * @throws {InputFileError} a config file with errors
 */
export async function chosenTargets(
  options: ChoiceOptions,
  io: Io,
): Promise<readonly ChosenTarget[]> {
  const chosen = await named(options, io);
  const password = await givenPassword(options, io);
  return chosen.map((one) => ({ ...one, target: withPassword(one.target, password) }));
}

async function named(options: ChoiceOptions, io: Io): Promise<readonly ChosenTarget[]> {
  if (options.context === undefined) return targetUrls(options, io).map(ofUrl);
  if (options.target !== undefined) {
    throw new UsageError('either --target or --context names what to ask, not both', {
      code: 'target-and-context',
      hint: 'leave one of them out',
      definite: true,
    });
  }
  const all = await loadContexts(options.config, io.env);
  const contexts = options.context.map((name) => contextNamed(name, all, io.env));
  // A password of the command line makes the context's own unneeded, and perhaps it is not there.
  const given = options.passwordFile !== undefined || options.askPassword === true;
  return Promise.all(
    contexts.map(async (context) => ({
      target: given ? context.target : await withOwnPassword(context, io),
      conventions: context.conventions,
    })),
  );
}

function ofUrl(url: string): ChosenTarget {
  return { target: parseTarget(url), conventions: undefined };
}

function targetUrls({ target }: ChoiceOptions, io: Io): readonly string[] {
  if (target !== undefined) return target;
  const fromEnvironment = io.env['FENCEPOST_TARGET']?.trim() ?? '';
  if (fromEnvironment !== '') return fromEnvironment.split(/\s+/);
  throw new UsageError('no target given', {
    code: 'no-target',
    hint: 'add --target redis://HOST:PORT or set FENCEPOST_TARGET; `fencepost lab up redis` starts a throwaway server',
    definite: true,
  });
}
