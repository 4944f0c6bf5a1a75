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
  const shown = writableTo((text) => {
    io.err(text);
  });
  return ask(question, io, shown);
}

/**
 * As `askLine`, without showing what is typed.
 * @throws {UsageError} `no-terminal`
 * @throws {Interrupted} on Ctrl-C or end of input
 */
export async function askSecret(question: string, io: Io): Promise<Secret> {
  const shown = writableTo(() => undefined);
  // The question comes last: before it stands, the terminal no longer echoes what is typed.
  const answer = ask('', io, shown);
  if (io.inIsTerminal) io.err(question);
  try {
    return new Secret(await answer);
  } finally {
    if (io.inIsTerminal) io.err('\n');
  }
}

function writableTo(write: (text: string) => void): Writable {
  return new Writable({
    write: (chunk: Buffer | string, _encoding, done) => {
      write(chunk.toString());
      done();
    },
  });
}

async function ask(question: string, io: Io, echo: Writable): Promise<string> {
  if (!io.inIsTerminal) {
    throw new UsageError('there is no terminal to ask on', {
      code: 'no-terminal',
      hint: 'give the answer as an option; `--help` names it',
      definite: true,
    });
  }
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
