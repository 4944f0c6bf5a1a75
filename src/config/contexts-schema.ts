/**
 * The form of `config.yaml`: named targets. Text in, contexts out, or one error that tells
 * everything wrong with its line and column. Strict: what is not known is refused.
 */
import { z } from 'zod';
import { UsageError } from '../domain/errors.ts';
import { parseTarget, type Target } from '../domain/target.ts';
import { checkShape } from '../files/shapes.ts';
import { joinErrors, readYaml, type FileKind, type Problem } from '../files/yaml-source.ts';

/** One named target. */
export interface Context {
  readonly target: Target;
  /** Where its password is: the file itself holds none. Undefined: nowhere. */
  readonly password: { readonly env: string } | { readonly file: string } | undefined;
  /** Globs over ids of conventions: records are read in these only. Undefined: in all. */
  readonly conventions: readonly string[] | undefined;
}

const configFile: FileKind = { code: 'bad-config', consequence: 'nothing was asked' };

const targetShape = z.string().transform((url, context): Target => {
  try {
    const target = parseTarget(url);
    if (target.password === undefined) return target;
    const params = { hint: 'password: { env: NAME } or { file: PATH }' };
    context.addIssue({ code: 'custom', message: 'the URL has a password in it', params });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const { message, hint } = error;
    context.addIssue({ code: 'custom', message, params: { hint } });
  }
  return z.NEVER;
});

const placeShape = z.union([
  z.strictObject({ env: z.string().min(1) }),
  z.strictObject({ file: z.string().min(1) }),
]);

/** Whatever else stands there may be the password itself: it is not shown. */
const passwordShape = z.unknown().transform((value, context): z.output<typeof placeShape> => {
  const place = placeShape.safeParse(value);
  if (place.success) return place.data;
  const params = { hint: '{ env: NAME } or { file: PATH }' };
  context.addIssue({ code: 'custom', message: 'only where the password is stands here', params });
  return z.NEVER;
});

const contextShape = z.strictObject({
  target: targetShape,
  username: z.string().min(1).max(200).optional(),
  password: passwordShape.optional(),
  conventions: z.array(z.string().min(1).max(100)).min(1).max(200).optional(),
});

const fileShape = z.strictObject({
  version: z.literal(1),
  contexts: z.record(z.string(), z.unknown()),
});
const contextName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,60}$/;

/**
 * Parses and validates the text of a config file.
 * @param file as it shall be named in errors
 * @throws {InputFileError} with every error found, each with line and column
 */
export function parseContexts(text: string, file: string): ReadonlyMap<string, Context> {
  const source = readYaml(text, file, configFile);
  const problems: Problem[] = [];
  const parsed = checkShape(fileShape, source.value, [], problems);
  const contexts = new Map<string, Context>();
  for (const [name, value] of Object.entries(parsed?.contexts ?? {})) {
    const path = ['contexts', name];
    if (!contextName.test(name)) {
      const message = `"${name}" is no name for a context`;
      problems.push({ path, atKey: true, message, hint: 'letters, digits, ".", "_" and "-"' });
    }
    const found = checkShape(contextShape, value, path, problems);
    if (found !== undefined) contexts.set(name, toContext(found));
  }
  if (problems.length === 0) return contexts;
  const located = problems.map(({ path, atKey, ...problem }) => ({
    ...problem,
    position: source.positionOf(path, atKey),
  }));
  throw joinErrors(located, configFile);
}

function toContext({ target, username, ...rest }: z.output<typeof contextShape>): Context {
  return {
    target: username === undefined ? target : { ...target, username },
    password: rest.password,
    conventions: rest.conventions,
  };
}
