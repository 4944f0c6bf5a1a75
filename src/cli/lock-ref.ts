/** Which lock a command is about: its name, and the options that say how the name is meant. */
import type { LockRef } from '../domain/lock.ts';
import { parseText } from '../domain/text.ts';
import { shellQuote } from '../reports/escape.ts';

export interface LockRefOptions {
  readonly convention?: string;
  readonly holder?: string;
}

export function lockRef(name: string, { convention, holder }: LockRefOptions): LockRef {
  return {
    name: parseText(name),
    ...(convention === undefined ? {} : { convention }),
    ...(holder === undefined ? {} : { holder: parseText(holder) }),
  };
}

/** The same options for a command to type next; with the holder that was found to be meant. */
export function refFlags({ convention }: LockRefOptions, { holder }: LockRef): readonly string[] {
  return [
    ...(convention === undefined ? [] : ['--convention', shellQuote(convention)]),
    ...(holder === undefined ? [] : ['--holder', shellQuote(holder)]),
  ];
}
