/** The command line: builds the program from the command modules and maps errors to exit codes. */
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { exitCodes, FencepostError, type ExitCode } from '../domain/errors.ts';
import { stringToText } from '../domain/text.ts';
import { commands } from './commands/index.ts';
import { processIo, type Io } from './io.ts';

/** Runs one command line and sets the process's exit code; never throws. */
export async function main(argv: readonly string[]): Promise<void> {
  const io = processIo(argv);
  process.exitCode = await run(argv, io);
}

async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  let code: ExitCode = exitCodes.ok;
  const program = buildProgram(io, (exit) => {
    code = exit;
  });
  try {
    await program.parseAsync([...argv]);
    return code;
  } catch (error) {
    return reportError(error, io);
  }
}

function buildProgram(io: Io, setExit: (code: ExitCode) => void): Command {
  const program = new Command('fencepost')
    .description('Inspect, safely release and chaos-test distributed locks.')
    .version(version(), '-V, --version')
    .option('--no-color', 'no colour (also: NO_COLOR)')
    .exitOverride()
    .configureOutput({
      outputError: (text, write) => {
        write(text.replace(/^error: /, 'fencepost: '));
      },
    })
    .showHelpAfterError('(see fencepost --help)')
    .enablePositionalOptions();
  for (const register of commands) register(program, io, setExit);
  return program;
}

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

function reportError(error: unknown, io: Io): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (error instanceof FencepostError) {
    io.err(`fencepost: ${error.message}\n`);
    if (error.hint !== undefined) io.err(`  ${error.hint.replaceAll('\n', '\n  ')}\n`);
    return error.exitCode;
  }
  const message = error instanceof Error ? error.message : String(error);
  io.err(
    `fencepost: internal error: ${stringToText(message)}\n  this is a bug in fencepost; FENCEPOST_DEBUG=1 shows where\n`,
  );
  if (io.env['FENCEPOST_DEBUG'] === '1' && error instanceof Error) io.err(`${error.stack ?? ''}\n`);
  return exitCodes.bug;
}
