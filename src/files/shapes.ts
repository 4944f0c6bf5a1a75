/** Shared by the schemas of files: spans and durations for zod, and zod's complaints in our words. */
import { z } from 'zod';
import { parseDuration } from '../domain/duration.ts';
import { UsageError } from '../domain/errors.ts';
import { nearestName } from '../domain/nearest.ts';
import { parseSpan } from '../domain/span.ts';
import type { Path, Problem } from './yaml-source.ts';

/** `2x lease`, `lease + 2s`, `500ms`. */
export const spanShape = unitShape(parseSpan);
/** `500ms`, `30s`; in milliseconds. */
export const durationShape = unitShape(parseDuration);

function unitShape<T>(parse: (text: string) => T): z.ZodType<T, string | number> {
  return z.union([z.string(), z.number()]).transform((value, context) => {
    try {
      return parse(String(value));
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      context.addIssue({ code: 'custom', message: error.message, params: { hint: error.hint } });
      return z.NEVER;
    }
  });
}

/** Parses `value`, which stands at `path` in the file; complaints go to `problems`. */
export function checkShape<T>(
  shape: z.ZodType<T>,
  value: unknown,
  path: Path,
  problems: Problem[],
): T | undefined {
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) problems.push(...toProblems(issue, shape, value, path));
  return undefined;
}

function toProblems(
  issue: z.core.$ZodIssue,
  shape: z.ZodType,
  value: unknown,
  base: Path,
): readonly Problem[] {
  const path = [...base, ...issue.path];
  const got = valueAt(value, issue.path);
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(shape, issue.path);
    return issue.keys.map((key) => ({
      path: [...path, key],
      atKey: true,
      message: `unknown key "${key}"`,
      hint: suggest(key, known),
    }));
  }
  if (got === undefined) {
    return [{ path, message: `"${String(path.at(-1) ?? 'value')}" is missing` }];
  }
  if (issue.code === 'invalid_value') {
    const known = issue.values.map(String);
    const message = `${show(got)} is not possible here`;
    return [{ path, message, hint: suggest(typeof got === 'string' ? got : '', known) }];
  }
  if (issue.code === 'custom') {
    const hint: unknown = issue.params?.['hint'];
    return [{ path, message: issue.message, ...(typeof hint === 'string' ? { hint } : {}) }];
  }
  return [{ path, message: `${show(got)} does not fit: ${issue.message}` }];
}

function suggest(word: string, known: readonly string[]): string {
  const nearest = nearestName(word, known);
  return nearest === undefined ? `known: ${known.join(', ')}` : `did you mean "${nearest}"?`;
}

/** Key and value pairs of a map in the file; undefined for anything else. */
export function entriesOf(value: unknown): readonly (readonly [string, unknown])[] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.entries(value);
}

/** A message about a word that is not among the known ones. */
export function unknownWord(
  word: string,
  known: readonly string[],
  what = 'unknown word',
): Omit<Problem, 'path'> {
  return { message: `${what} "${word}"`, hint: suggest(word, known) };
}

function show(value: unknown): string {
  if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'a map';
  return JSON.stringify(value).slice(0, 80);
}

function valueAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const part of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = new Map<string, unknown>(Object.entries(at)).get(String(part));
  }
  return at;
}

/** Keys that the schema allows at `path`. */
function keysAt(shape: z.ZodType, path: Path): readonly string[] {
  let at: unknown = unwrap(shape);
  for (const part of path) {
    if (at instanceof z.ZodObject) at = unwrap(at.shape[String(part)]);
    else if (at instanceof z.ZodArray) at = unwrap(at.element);
    else return [];
  }
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}

function unwrap(shape: unknown): unknown {
  return shape instanceof z.ZodOptional ? unwrap(shape.unwrap()) : shape;
}
