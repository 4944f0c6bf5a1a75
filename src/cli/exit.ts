/** How a command line ends: errors become one sentence on stderr and one exit code. */
import { exitCodes, FencepostError, type ExitCode } from '../domain/errors.ts';
import { printable, redactSecrets } from '../reports/escape.ts';
import type { Io } from './io.ts';

/** For the help of the whole program. */
export const exitCodeHelp = `Exit codes:
  0    done; every invariant held, every fault was proven
  1    an invariant was violated, or an audit check failed
  2    usage or input error: nothing was touched
  3    inconclusive: something is not proven, not exercised, or evidence is missing
  4    the target could not be reached, or refused us
  5    a guard refused the release
  6    the lock changed hands, or was gone: nothing was deleted
  7    something could not be undone: run \`fencepost heal\`
  70   a bug in fencepost
  130  interrupted; everything undone first`;

/** Tells an error on stderr, without a stack trace and without secrets, and gives its exit code. */
export function reportError(error: unknown, io: Io): ExitCode {
  if (io.signal.aborted && !isOwnResult(error)) return reportAbort(io);
  if (error instanceof FencepostError) {
    io.err(`fencepost: ${redactSecrets(printable(error.message))}\n`);
    if (error.hint !== undefined) {
      io.err(`  ${redactSecrets(printable(error.hint)).replaceAll('\n', '\n  ')}\n`);
    }
    return error.exitCode;
  }
  return reportBug(error, io);
}

/** After Ctrl-C only these still say something: what was done, or could not be undone. */
function isOwnResult(error: unknown): boolean {
  if (!(error instanceof FencepostError)) return false;
  const code: ExitCode = error.exitCode;
  return code !== exitCodes.interrupted && code !== exitCodes.target;
}

function reportAbort(io: Io): ExitCode {
  if (io.signal.reason === 'EPIPE') return exitCodes.ok;
  io.err('fencepost: interrupted\n');
  return exitCodes.interrupted;
}

function reportBug(error: unknown, io: Io): ExitCode {
  const message = error instanceof Error ? error.message : String(error);
  io.err(`fencepost: internal error: ${redactSecrets(printable(message))}\n`);
  io.err('  this is a bug in fencepost; FENCEPOST_DEBUG=1 shows where\n');
  if (io.env['FENCEPOST_DEBUG'] === '1' && error instanceof Error) {
    io.err(`${redactSecrets(printable(error.stack ?? ''))}\n`);
  }
  return exitCodes.bug;
}
