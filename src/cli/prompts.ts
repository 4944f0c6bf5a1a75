/** Questions to the person at the terminal. Without a terminal there is nobody to ask, and they fail. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Interrupted, UsageError } from '../domain/errors.ts';
import { Secret } from '../domain/target.ts';
import type { Io } from './io.ts';

/**
 * Asks one question on stderr and returns the line typed, without its line break.
 * @throws {UsageError} `no-terminal` when stdin is not a terminal: piped input is never consent
 * @throws {Interrupted} on Ctrl-C or end of input
 */
export function askLine(question: string, io: Io): Promise<string> {
  return ask(question, io, process.stderr);
}

/**
 * As `askLine`, without showing what is typed.
 * @throws {UsageError} `no-terminal`
 * @throws {Interrupted} on Ctrl-C or end of input
 */
export async function askSecret(question: string, io: Io): Promise<Secret> {
  const silent = new Writable({
    write: (_chunk, _encoding, done) => {
      done();
    },
  });
  requireTerminal(io);
  io.err(question);
  const answer = await ask('', io, silent);
  io.err('\n');
  return new Secret(answer);
}

function requireTerminal(io: Io): void {
  if (io.inIsTerminal) return;
  throw new UsageError('there is no terminal to ask on', {
    code: 'no-terminal',
    hint: 'give the answer as an option; `--help` names it',
    definite: true,
  });
}

async function ask(question: string, io: Io, echo: NodeJS.WritableStream): Promise<string> {
  requireTerminal(io);
  const lines = createInterface({ input: process.stdin, output: echo, terminal: true });
  return new Promise((resolve, reject) => {
    const interrupted = (): void => {
      lines.close();
    };
    io.signal.addEventListener('abort', interrupted, { once: true });
    lines.on('SIGINT', interrupted);
    lines.on('close', () => {
      io.signal.removeEventListener('abort', interrupted);
      reject(new Interrupted('interrupted', { code: 'interrupted', definite: true }));
    });
    lines.question(question, (answer) => {
      resolve(answer);
      lines.close();
    });
  });
}
