/** `-o`: which form the data on stdout takes. */
import { Option, type Command } from 'commander';

/** Adds `-o, --output`; the first format is the default. */
export function addOutputOption(command: Command, formats: readonly string[]): Command {
  return command.addOption(
    new Option('-o, --output <format>', 'form of the output').choices(formats).default(formats[0]),
  );
}
