/** Programs that use a real lock library, run as children: how to start them, and what they say. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, vi } from 'vitest';
import { LineSplitter } from '../../../src/domain/line-splitter.ts';
import { until } from '../../helpers/until.ts';

export interface ClientCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A client that takes one lock. The programs say `asks` before the library's call, `holds …` after. */
export interface Client {
  readonly pid: number;
  /** Waits for a line that begins with this, and gives the rest of it. @throws {Error} with its stderr */
  says(begin: string): Promise<string>;
  /** What it said so far. */
  said(): readonly string[];
}

/** An interpreter and a library take seconds to start, on a busy machine many. */
export const clientDeadlineMs = 30_000;

/**
 * Gives a way of starting clients, which are killed after each test. Their stdin stays open until
 * then. The tests of the file get the time that two clients, one after the other, may need.
 */
export function useClients(): (command: ClientCommand) => Client {
  vi.setConfig({ testTimeout: 120_000 });
  const children: ChildProcess[] = [];
  afterEach(async () => {
    await Promise.all(children.splice(0).map(kill));
  });
  return (command) => {
    const { file, args, env } = command;
    const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: 'pipe' });
    children.push(child);
    const said: string[] = [];
    let complaints = '';
    const splitter = new LineSplitter();
    child.on('error', ({ message }) => (complaints += message));
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said.push(...splitter.push(text));
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
    const ended = (): boolean => child.pid === undefined || child.exitCode !== null;
    return {
      pid: child.pid ?? 0,
      said: () => said,
      async says(begin) {
        const line = (): string | undefined => said.find((one) => one.startsWith(begin));
        await until(
          `${file} says "${begin}"`,
          () => line() !== undefined || ended(),
          clientDeadlineMs,
        );
        const found = line();
        if (found === undefined) throw new Error(`${file} ended: ${complaints}`);
        return found.slice(begin.length).trim();
      },
    };
  };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
}

/** A client program of this project's fixtures. */
export function clientFile(name: string): string {
  return fileURLToPath(new URL(`../../fixtures/real-clients/${name}`, import.meta.url));
}

/** A client program for Node.js, whose library comes with this project's own packages. */
export function nodeClient(name: string, args: readonly string[]): ClientCommand {
  return { file: process.execPath, args: [clientFile(name), ...args] };
}
