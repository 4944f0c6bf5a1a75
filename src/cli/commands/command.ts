/** How a command joins the program: commander wiring only, its work behind a dynamic import. */
import type { Command } from 'commander';
import type { ExitCode } from '../../domain/errors.ts';
import type { Io } from '../io.ts';

/** Adds one command. `setExit` gives the exit code of a command that ended without an error. */
export type RegisterCommand = (program: Command, io: Io, setExit: (code: ExitCode) => void) => void;
