/** Where the password of a target comes from: a flag, its context, or the environment. */
import { readFile } from 'node:fs/promises';
import type { Context } from '../config/contexts-schema.ts';
import { systemCode, UsageError } from '../domain/errors.ts';
import { Secret, type Target } from '../domain/target.ts';
import type { Io } from './io.ts';
import { askSecret } from './prompts.ts';

export interface PasswordOptions {
  readonly passwordFile?: string;
  readonly askPassword?: boolean;
}

export interface GivenPassword {
  readonly secret: Secret;
  /** A flag of this very command line beats the target's own; the environment only fills a gap. */
  readonly overrides: boolean;
}

export function withPassword(target: Target, given: GivenPassword | undefined): Target {
  if (given === undefined || (target.password !== undefined && !given.overrides)) return target;
  return { ...target, password: given.secret };
}

/**
 * What the command line or FENCEPOST_PASSWORD gives.
 * @throws {UsageError} `password-file`
 */
export async function givenPassword(
  options: PasswordOptions,
  io: Io,
): Promise<GivenPassword | undefined> {
  if (options.passwordFile !== undefined) {
    return { secret: await readPasswordFile(options.passwordFile), overrides: true };
  }
  if (options.askPassword === true) {
    return { secret: await askSecret('Password: ', io), overrides: true };
  }
  const fromEnvironment = io.env['FENCEPOST_PASSWORD'] ?? '';
  return fromEnvironment === ''
    ? undefined
    : { secret: new Secret(fromEnvironment), overrides: false };
}

/**
 * The context's target with the password that its file or variable holds.
 * @throws {UsageError} `password-file`, `password-variable`
 */
export async function withOwnPassword({ target, password }: Context, io: Io): Promise<Target> {
  if (password === undefined) return target;
  if ('file' in password) return { ...target, password: await readPasswordFile(password.file) };
  const value = io.env[password.env] ?? '';
  if (value !== '') return { ...target, password: new Secret(value) };
  throw new UsageError(`the variable ${password.env}, which holds the password, is not set`, {
    code: 'password-variable',
    hint: 'set it, or give the password by --password-file or --ask-password',
    definite: true,
  });
}

async function readPasswordFile(file: string): Promise<Secret> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    const code = systemCode(cause, 'unreadable');
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
