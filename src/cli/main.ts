/** The command line: builds the program, loads the command that was named, maps errors to exit codes. */
import { Command, CommanderError } from 'commander';
import { exitCodes, InternalError, type ExitCode } from '../domain/errors.ts';
import { redactUrl } from '../domain/target.ts';
import { printable, redactSecrets } from '../reports/escape.ts';
import { commands, completeCommand, type CommandEntry } from './commands/index.ts';
import { exitCodeHelp, reportError } from './exit.ts';
import { processIo, type Io } from './io.ts';
import { version } from './version.ts';

/** Runs one command line and ends the process with its exit code; never throws. */
export async function main(argv: readonly string[]): Promise<void> {
  hidePasswords(argv);
  const io = processIo(argv);
  process.on('uncaughtException', (error) => {
    process.exit(reportError(error, io));
  });
  const code = await run(argv, io);
  await io.out('');
  // Not exitCode: a client library that left a timer behind must not keep the shell waiting.
  process.exit(code);
}

async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  let code: ExitCode = exitCodes.ok;
  try {
    const program = await buildProgram(io, isNamedIn(argv), (exit) => {
      code = exit;
    });
    await program.parseAsync([...argv]);
    return code;
  } catch (error) {
    if (error instanceof CommanderError) {
      return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    }
    return reportError(error, io);
  }
}

/**
 * The whole program. Commands for which `wanted` is false are there by name only, so that the
 * list of commands costs no module.
 */
async function buildProgram(
  io: Io,
  wanted: (command: CommandEntry) => boolean,
  setExit: (code: ExitCode) => void,
): Promise<Command> {
  const program = new Command('fencepost')
    .description('Inspect, safely release and chaos-test distributed locks.')
    .usage('COMMAND [options]')
    .version(version(), '-V, --version')
    .option('--no-color', 'no colour (also: NO_COLOR)')
    .exitOverride()
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .configureOutput({
      outputError: (text, write) => {
        write(usageMessage(text));
      },
    })
    .showHelpAfterError('  `--help` lists commands and options')
    .enablePositionalOptions()
    .addHelpText('after', `\n${exitCodeHelp}`);
  for (const entry of commands) {
    if (wanted(entry)) (await entry.load())(program, io, setExit);
    else addStub(program, entry);
  }
  return program;
}

/** Whether a command is the one typed (or the one whose help is asked for). */
function isNamedIn(argv: readonly string[]): (command: CommandEntry) => boolean {
  const words = argv.slice(2).filter((word) => !word.startsWith('-'));
  const [first, second] = words;
  if (first === completeCommand) return (command) => words.includes(command.name);
  const name = first === 'help' ? second : first;
  return (command) => command.name === name;
}

function addStub(program: Command, entry: CommandEntry): void {
  program
    .command(entry.name, { hidden: entry.hidden ?? false })
    .summary(entry.summary)
    .action(() => {
      throw new InternalError(`command "${entry.name}" was not loaded`, { code: 'not-loaded' });
    });
}

/** Commander's complaint in our form; it quotes arguments, which may hold anything. */
function usageMessage(text: string): string {
  const sentence = text
    .replace(/^error: /, 'fencepost: ')
    .replace(/\n\(Did you mean (.*)\?\)/, '; did you mean $1?');
  return redactSecrets(printable(sentence));
}

/** A password in a target URL stays in the list of processes only until this line has run. */
function hidePasswords(argv: readonly string[]): void {
  const safe = argv.map((word, index) => withoutPassword(word, argv[index - 1]));
  if (safe.some((word, index) => word !== argv[index])) process.title = safe.join(' ');
}

function withoutPassword(word: string, before = ''): string {
  const [, flag = '', value = ''] = /^(--[\w-]+=)?(.*)$/s.exec(word) ?? [];
  const isTarget = value.includes('://') || /^--(?:target|resource)=?$/.test(flag || before);
  return isTarget ? `${flag}${redactUrl(value)}` : word;
}
