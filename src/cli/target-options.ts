/** The options that say which lock service to ask, shared by every command that asks one. */
import { readFile } from 'node:fs/promises';
import { Option, type Command } from 'commander';
import type { Backend, BackendOptions } from '../backends/backend.ts';
import { loadConventions } from '../config/conventions-file.ts';
import { UsageError } from '../domain/errors.ts';
import { parseTarget, Secret, type Target } from '../domain/target.ts';
import { shellQuote } from '../reports/escape.ts';
import type { Io } from './io.ts';
import { durationValue, listValue } from './option-values.ts';
import { askSecret } from './prompts.ts';

/** What commander hands to the action of a command with target options. */
export interface TargetOptions {
  readonly target?: readonly string[];
  readonly passwordFile?: string;
  readonly askPassword?: boolean;
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
 * @throws {InputFileError} a conventions file with errors
 */
export async function openTarget(options: TargetOptions, io: Io): Promise<Backend> {
  const password = await givenPassword(options, io);
  return open(oneUrl(options, io), password, await backendOptions(options, io));
}

/**
 * Opens every target named by flag or environment (there separated by spaces), in that order.
 * @throws {UsageError} as `openTarget`
 */
export async function openTargets(options: TargetOptions, io: Io): Promise<readonly Backend[]> {
  const password = await givenPassword(options, io);
  const backends: Backend[] = [];
  const how = await backendOptions(options, io);
  for (const url of targetUrls(options, io)) backends.push(await open(url, password, how));
  return backends;
}

/**
 * The one target named by flag or environment, with its password, not opened.
 * @throws {UsageError} as `openTarget`
 */
export async function namedTarget(options: TargetOptions, io: Io): Promise<Target> {
  return withPassword(parseTarget(oneUrl(options, io)), await givenPassword(options, io));
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

/** The `--target` words (and `--conventions`) of a command to type next: without the password, quoted for a shell. */
export function targetFlag(options: TargetOptions): readonly string[] {
  const { target = [], conventions } = options;
  return [
    ...target.flatMap((url) => ['--target', shellQuote(withoutPassword(url))]),
    ...(conventions === undefined ? [] : ['--conventions', shellQuote(conventions)]),
  ];
}

/** `redis://:secret@host` becomes `redis://host`, `redis://me:secret@host` becomes `redis://me@host`. */
function withoutPassword(url: string): string {
  return url.replace(/:\/\/([^/:@]*):.*@/, (_match, user: string) =>
    user === '' ? '://' : `://${user}@`,
  );
}

function oneUrl(options: TargetOptions, io: Io): string {
  const [url, ...more] = targetUrls(options, io);
  if (url !== undefined && more.length === 0) return url;
  throw new UsageError(`this command takes one target, not ${more.length + 1}`, {
    code: 'several-targets',
    hint: 'name one with --target',
    definite: true,
  });
}

function targetUrls(options: TargetOptions, io: Io): readonly string[] {
  if (options.target !== undefined) return options.target;
  const fromEnvironment = io.env['FENCEPOST_TARGET']?.trim() ?? '';
  if (fromEnvironment !== '') return fromEnvironment.split(/\s+/);
  throw new UsageError('no target given', {
    code: 'no-target',
    hint: 'add --target redis://HOST:PORT or set FENCEPOST_TARGET; `fencepost lab up redis` starts a throwaway server',
    definite: true,
  });
}

async function open(
  url: string,
  password: GivenPassword | undefined,
  options: BackendOptions,
): Promise<Backend> {
  const target = withPassword(parseTarget(url), password);
  const { openBackend } = await import('../backends/registry.ts');
  return openBackend(target, options);
}

async function backendOptions(options: TargetOptions, io: Io): Promise<BackendOptions> {
  return {
    connectTimeoutMs: options.connectTimeout,
    requestTimeoutMs: options.timeout,
    clientName: `fencepost-${process.pid}`,
    conventions: await loadConventions(options.conventions, io.env),
  };
}

interface GivenPassword {
  readonly secret: Secret;
  /** A flag of this very command line beats the URL; the environment only fills a gap. */
  readonly overridesUrl: boolean;
}

function withPassword(target: Target, given: GivenPassword | undefined): Target {
  if (given === undefined || (target.password !== undefined && !given.overridesUrl)) return target;
  return { ...target, password: given.secret };
}

async function givenPassword(options: TargetOptions, io: Io): Promise<GivenPassword | undefined> {
  if (options.passwordFile !== undefined) {
    return { secret: await readPasswordFile(options.passwordFile), overridesUrl: true };
  }
  if (options.askPassword === true) {
    return { secret: await askSecret('Password: ', io), overridesUrl: true };
  }
  const fromEnvironment = io.env['FENCEPOST_PASSWORD'];
  return fromEnvironment === undefined || fromEnvironment === ''
    ? undefined
    : { secret: new Secret(fromEnvironment), overridesUrl: false };
}

async function readPasswordFile(file: string): Promise<Secret> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
    throw new UsageError(`cannot read the password file "${file}": ${code}`, {
      code: 'password-file',
      hint: 'give a readable file that holds the password and nothing else',
      cause,
      definite: true,
    });
  });
  // Editors end a file with a line break; a password that ends with one must come from elsewhere.
  const password = text.replace(/\r?\n$/, '');
  if (password === '') {
    throw new UsageError(`the password file "${file}" is empty`, {
      code: 'password-file',
      hint: 'put the password into it, on one line',
      definite: true,
    });
  }
  return new Secret(password);
}
