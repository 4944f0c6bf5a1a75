/** What may stand at the place of the last word: read off the commands themselves, no list kept by hand. */
import type { Argument, Command, Option } from 'commander';

/** Asks the shell for its own completion of file names. */
const filesWanted = [':file'];

/** Values that the commands do not know: somebody has to be asked for them. */
export type Wanted = 'lock' | 'target' | 'context' | 'lab' | 'convention';

/**
 * Candidates for the last of `words` (the command line after the program's name, the last one
 * possibly empty), each `word`, tab, description; or the single line `:file`; or what to ask for.
 */
export function completeWords(
  program: Command,
  words: readonly string[],
): readonly string[] | Wanted {
  const current = words.at(-1) ?? '';
  const place = placeAfter(program, words.slice(0, -1));
  const { command, pending } = place;
  if (pending !== undefined) return matching(valuesOf(pending), current);
  if (current.startsWith('-') && !place.onlyOperands) return matching(optionsOf(command), current);
  if (place.operands === 0 && command.commands.length > 0) {
    return matching(commandsOf(command), current);
  }
  const argument = argumentAt(command, place.operands);
  return argument === undefined ? [] : matching(valuesOf(argument), current);
}

interface Place {
  readonly command: Command;
  /** The option whose value comes next. */
  readonly pending: Option | undefined;
  readonly operands: number;
  /** `--` has been typed. */
  readonly onlyOperands: boolean;
}

function placeAfter(program: Command, words: readonly string[]): Place {
  let place: Place = { command: program, pending: undefined, operands: 0, onlyOperands: false };
  for (const word of words) place = step(place, word);
  return place;
}

function step(place: Place, word: string): Place {
  if (place.pending !== undefined) return { ...place, pending: undefined };
  if (word === '--') return { ...place, onlyOperands: true };
  if (word.startsWith('-') && !place.onlyOperands) {
    const option = place.command.options.find(
      (known) => known.long === word || known.short === word,
    );
    return option?.required === true ? { ...place, pending: option } : place;
  }
  const sub = place.operands === 0 ? find(place.command, word) : undefined;
  return sub === undefined
    ? { ...place, operands: place.operands + 1 }
    : { ...place, command: sub, operands: 0 };
}

function find(command: Command, name: string): Command | undefined {
  return command.commands.find((sub) => sub.name() === name);
}

/** The last argument stands for all that follow when it takes several. */
function argumentAt(command: Command, index: number): Argument | undefined {
  const taken = command.registeredArguments;
  const last = taken.at(-1);
  return taken[index] ?? (last?.variadic === true ? last : undefined);
}

/** By the name of an argument, or the long form of an option. */
const asked: Readonly<Record<string, Wanted>> = {
  name: 'lock',
  id: 'lab',
  target: 'target',
  context: 'context',
  convention: 'convention',
};

function valuesOf(taker: Option | Argument): readonly string[] | Wanted {
  if (taker.argChoices !== undefined) return taker.argChoices;
  const wanted = new Map(Object.entries(asked)).get(taker.name());
  if (wanted !== undefined) return wanted;
  const label = 'flags' in taker ? taker.flags : taker.name();
  return /\b(?:file|folder|dir|history|scenario)s?\b/i.test(label) ? filesWanted : [];
}

function optionsOf(command: Command): readonly string[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map((option) => candidate(option.long ?? option.short ?? '', option.description));
}

function commandsOf(command: Command): readonly string[] {
  const help = command.createHelp();
  return help
    .visibleCommands(command)
    .map((sub) => candidate(sub.name(), help.subcommandDescription(sub)));
}

/** One line: a candidate ends where its line ends. */
function candidate(word: string, description: string): string {
  return `${word}\t${description.split('\n', 1)[0] ?? ''}`;
}

function matching(
  candidates: readonly string[] | Wanted,
  start: string,
): readonly string[] | Wanted {
  if (typeof candidates === 'string' || candidates === filesWanted) return candidates;
  return candidates.filter((line) => line.startsWith(start));
}
