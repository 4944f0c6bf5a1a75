/** Parsers of option values: what commander hands over as text, and a clear refusal of the rest. */
import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../domain/duration.ts';
import { FencepostError } from '../domain/errors.ts';

/** `2s`, `500ms` … as milliseconds. */
export function durationValue(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    if (!(error instanceof FencepostError)) throw error;
    // Commander adds which option it was.
    throw new InvalidArgumentError([error.message, error.hint].join('; '));
  }
}

/** `auto`, `off` or a duration in milliseconds. */
export function observeValue(text: string): number | 'auto' | 'off' {
  return text === 'auto' || text === 'off' ? text : durationValue(text);
}

/** A command line; an empty one would succeed without doing anything. */
export function commandValue(text: string): string {
  if (text.trim() === '')
    throw new InvalidArgumentError('write a command line, such as "./told.sh"');
  return text;
}

/** A whole number from 1. */
export function countValue(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) {
    throw new InvalidArgumentError('write a whole number, 1 or more');
  }
  return Number(text);
}

/** Gathers the values of an option that may be given several times. */
export function listValue(text: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), text];
}

/** As `listValue`, of words that commas part as well. */
export function wordsValue(text: string, before: readonly string[] | undefined): readonly string[] {
  const words = text.split(',').map((word) => word.trim());
  if (words.includes('')) throw new InvalidArgumentError('a word is missing beside a comma');
  return [...(before ?? []), ...words];
}

/** As `listValue`, of the given words only. */
export function choiceListValue(
  choices: readonly string[],
): (text: string, before: readonly string[] | undefined) => readonly string[] {
  return (text, before) => {
    if (!choices.includes(text)) {
      throw new InvalidArgumentError(`allowed choices are ${choices.join(', ')}`);
    }
    return listValue(text, before);
  };
}
