/** Globs over names, as Redis reads them: `*`, `?`, `[abc]`, `[^a-z]`, and `\` before a literal. */
import type { Text } from './text.ts';

/** Names that make a plain record a lock, unless the context or the command says otherwise. */
export const defaultLockPatterns: readonly string[] = ['*lock*', '*mutex*', '*lease*', '*leader*'];

/**
 * Compiles patterns into one test of a name. A pattern without wildcards is the whole name.
 * `letters: 'any-case'` is for names that people gave; servers tell cases apart.
 */
export function globMatcher(
  patterns: readonly string[],
  letters: 'any-case' | 'exact' = 'any-case',
): (name: Text) => boolean {
  if (patterns.length === 0) return () => false;
  const flags = letters === 'exact' ? 'su' : 'isu';
  const union = new RegExp(`^(?:${patterns.map(toRegExp).join('|')})$`, flags);
  return (name) => union.test(name);
}

function toRegExp(pattern: string): string {
  let out = '';
  for (const [part] of pattern.matchAll(/\\.|\[\^?(?:\\.|[^\]])+\]|\*+|./gsu)) {
    if (part.startsWith('*')) out += '.*';
    else if (part === '?') out += '.';
    else if (part.length > 2 && part.startsWith('[')) out += characterClass(part);
    else out += escape(part.length > 1 && part.startsWith('\\') ? part.slice(1) : part);
  }
  return out;
}

function characterClass(part: string): string {
  const inverted = part.startsWith('[^');
  const body = part.slice(inverted ? 2 : 1, -1);
  const ranges = [...body.matchAll(/\\?(.)(?:-\\?(.))?/gsu)].map(([, from = '', to = from]) => {
    // A range the wrong way round (`[z-a]`) is legal in Redis and an error in a RegExp.
    const [low, high] = from <= to ? [from, to] : [to, from];
    return `${codePoint(low)}-${codePoint(high)}`;
  });
  return `[${inverted ? '^' : ''}${ranges.join('')}]`;
}

function codePoint(char: string): string {
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}

function escape(literal: string): string {
  return literal.replace(/[.*+?^${}()|[\]\\/]/gu, '\\$&');
}
