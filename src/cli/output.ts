/** Writing results: the `-o` option, lines in batches, colours, and progress that leaves no trace. */
import { Option, type Command } from 'commander';
import { plainPaint, type Paint } from '../reports/paint.ts';
import type { Io } from './io.ts';

/** Forms in which `run` and `report` tell a run; `text` is another name of `table`. */
export const runFormats = ['table', 'text', 'json', 'junit', 'md', 'html'] as const;
export type RunFormat = (typeof runFormats)[number];

/** Adds `-o, --output`; the first format is the default. */
export function addOutputOption(command: Command, formats: readonly string[]): Command {
  return command.addOption(
    new Option('-o, --output <format>', 'form of the output').choices(formats).default(formats[0]),
  );
}

/** Colours for stdout, loaded only when they are wanted. */
export async function paintFor(io: Io): Promise<Paint> {
  if (!io.color) return plainPaint;
  const { colorPaint } = await import('../reports/paint.ts');
  return colorPaint();
}

export interface LineWriter {
  /** Resolves when more may be written. Order is that of the calls. */
  text(text: string): Promise<void>;
  /** As `text`, with a line break. */
  line(text: string): Promise<void>;
  /** Writes what is left. */
  end(): Promise<void>;
}

const batchChars = 16_384;

/**
 * Writes lines to stdout in batches: a write for each of a million lines would cost more than
 * reading them. What has gathered goes out before the process waits for its next input.
 */
export function lineWriter(io: Io): LineWriter {
  let batch = '';
  let scheduled = false;
  const flush = async (): Promise<void> => {
    const text = batch;
    batch = '';
    if (text !== '') await io.out(text);
  };
  const write = async (text: string): Promise<void> => {
    batch += text;
    if (batch.length >= batchChars) await flush();
    else if (!scheduled) {
      scheduled = true;
      setImmediate(() => {
        scheduled = false;
        void flush();
      });
    }
  };
  return { text: write, line: (text) => write(`${text}\n`), end: flush };
}

/** One line on a terminal's stderr that is overwritten as things proceed; silent elsewhere. */
export interface Progress {
  show(text: string): void;
  /** Removes the line, before anything else is printed. */
  clear(): void;
}

export function progressOn(io: Io): Progress {
  let shown = false;
  const clear = (): void => {
    if (shown) io.err('\r\u001b[K');
    shown = false;
  };
  return {
    show: (text) => {
      if (!io.errIsTerminal) return;
      io.err(`\r\u001b[K${text}`);
      shown = true;
    },
    clear,
  };
}
