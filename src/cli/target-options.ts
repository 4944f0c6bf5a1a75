/** The options that say which lock service to ask, shared by every command that asks one. */
import { Option, type Command } from 'commander';
import type { Backend } from '../backends/backend.ts';
import { checkPatterns } from '../config/contexts-file.ts';
import { loadConventions } from '../config/conventions-file.ts';
import type { OwnConventions } from '../conventions/convention-set.ts';
import { UsageError } from '../domain/errors.ts';
import type { Target } from '../domain/target.ts';
import { shellQuote } from '../reports/escape.ts';
import { chosenTargets, type ChoiceOptions, type ChosenTarget } from './chosen-targets.ts';
import type { Io } from './io.ts';
import { durationValue, listValue } from './option-values.ts';

/** What commander hands to the action of a command with target options. */
export interface TargetOptions extends ChoiceOptions {
  readonly connectTimeout: number;
  readonly timeout: number;
  /** File of the team's own conventions. */
  readonly conventions?: string;
}

/** Adds `--target` and its companions. A command that takes several targets reads them all. */
export function addTargetOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--target <url>',
        'lock service, such as redis://host:6379 (also: FENCEPOST_TARGET)',
      ).argParser(listValue),
    )
    .addOption(
      new Option('--context <name>', 'lock service by its name in the config file').argParser(
        listValue,
      ),
    )
    .option(
      '--config <file>',
      'file of contexts (also: FENCEPOST_CONFIG, ~/.config/fencepost/config.yaml)',
    )
    .option('--password-file <file>', 'read the password from a file')
    .option('--ask-password', 'ask for the password (also: FENCEPOST_PASSWORD in the environment)')
    .addOption(
      new Option('--connect-timeout <duration>', 'give up connecting after this long')
        .argParser(durationValue)
        .default(1500, '1500ms'),
    )
    .addOption(
      new Option('--timeout <duration>', 'give up waiting for one answer after this long')
        .argParser(durationValue)
        .default(5000, '5s'),
    );
}

/** Adds `--conventions`: every command that reads locks takes it. */
export function addConventionsOption(command: Command): Command {
  return command.option(
    '--conventions <file>',
    'lock layouts of your own (also: FENCEPOST_CONVENTIONS, ~/.config/fencepost/conventions.yaml)',
  );
}

/**
 * Opens the one target named by flag or environment. The caller closes it.
 * @throws {UsageError} no target, several targets, a bad URL, an unreadable password or conventions file
 * @throws {InputFileError} a conventions or config file with errors
 */
export async function openTarget(options: TargetOptions, io: Io): Promise<Backend> {
  const chosen = await oneTarget(options, io);
  return open(chosen, options, await loadConventions(options.conventions, io.env));
}

/**
 * Opens every target named by flag or environment, in that order.
 * @throws {UsageError} as `openTarget`
 */
export async function openTargets(options: TargetOptions, io: Io): Promise<readonly Backend[]> {
  const all = await chosenTargets(options, io);
  const own = await loadConventions(options.conventions, io.env);
  const backends: Backend[] = [];
  for (const chosen of all) backends.push(await open(chosen, options, own));
  return backends;
}

/**
 * The one target named by flag or environment, with its password, not opened.
 * @throws {UsageError} as `openTarget`
 */
export async function namedTarget(options: TargetOptions, io: Io): Promise<Target> {
  return (await oneTarget(options, io)).target;
}

/** Opens the target, hands it to `use`, and closes it whatever happens. */
export async function withTarget<T>(
  options: TargetOptions,
  io: Io,
  use: (backend: Backend) => Promise<T>,
): Promise<T> {
  const backend = await openTarget(options, io);
  try {
    return await use(backend);
  } finally {
    await backend.close();
  }
}

/** The words of these options for a command to type next: without the password, quoted for a shell. */
export function targetFlag(options: TargetOptions): readonly string[] {
  const { target = [], context = [], config, conventions } = options;
  return [
    ...target.flatMap((url) => ['--target', shellQuote(withoutPassword(url))]),
    ...context.flatMap((name) => ['--context', shellQuote(name)]),
    ...(config === undefined ? [] : ['--config', shellQuote(config)]),
    ...(conventions === undefined ? [] : ['--conventions', shellQuote(conventions)]),
  ];
}

/** `redis://:secret@host` becomes `redis://host`, `redis://me:secret@host` becomes `redis://me@host`. */
function withoutPassword(url: string): string {
  return url.replace(/:\/\/([^/:@]*):.*@/, (_match, user: string) =>
    user === '' ? '://' : `://${user}@`,
  );
}

async function oneTarget(options: TargetOptions, io: Io): Promise<ChosenTarget> {
  const [chosen, ...more] = await chosenTargets(options, io);
  if (chosen !== undefined && more.length === 0) return chosen;
  throw new UsageError(`this command takes one target, not ${more.length + 1}`, {
    code: 'several-targets',
    hint: 'name one with --target or --context',
    definite: true,
  });
}

async function open(
  { target, conventions: only }: ChosenTarget,
  options: TargetOptions,
  conventions: OwnConventions,
): Promise<Backend> {
  if (only !== undefined) await checkPatterns(only, conventions);
  const { openBackend } = await import('../backends/registry.ts');
  return openBackend(target, {
    connectTimeoutMs: options.connectTimeout,
    requestTimeoutMs: options.timeout,
    clientName: `fencepost-${process.pid}`,
    conventions,
    ...(only === undefined ? {} : { onlyConventions: only }),
  });
}
