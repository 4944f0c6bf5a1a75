/**
 * Reads a capture line by line, so that one of a million locks needs no more memory than one of ten.
 * The file may come from anywhere: whatever is not a whole capture is one sentence with its place.
 */
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { TextDecoder } from 'node:util';
import type { z } from 'zod';
import type { CapturedLock, CaptureEnd, CaptureFacts } from '../domain/capture.ts';
import { InputFileError, systemCode, UsageError } from '../domain/errors.ts';
import { LineSplitter } from '../domain/line-splitter.ts';
import {
  captureFormat,
  captureVersion,
  endShape,
  headerShape,
  lockLineShape,
} from './capture-format.ts';

export interface Capture {
  readonly header: CaptureFacts;
  /**
   * The locks in the order they were listed. Once.
   * @throws {InputFileError} `bad-capture` at the first line that is wrong, `capture-cut-off`
   */
  readonly locks: AsyncIterable<CapturedLock>;
  /** What the listing went through; undefined until `locks` has ended. */
  end(): CaptureEnd | undefined;
}

/** A lock with ten thousand waiters is a line of megabytes. */
const longestLine = 64 * 1024 * 1024;
const anew = 'make a new one with `fencepost ls --save FILE`';

/**
 * Opens a capture and reads its header. A regular file that was cut off is refused at once.
 * @throws {UsageError} `unreadable-capture`
 * @throws {InputFileError} `not-a-capture`, `bad-capture`, `capture-cut-off`
 */
export async function openCapture(file: string): Promise<Capture> {
  const lines = readLines(file);
  const first = await lines.next();
  const header = parseHeader(first.done === true ? undefined : first.value, file);
  await checkEnd(file);
  let end: CaptureEnd | undefined;
  return {
    header,
    locks: readLocks(lines, header, file, (found) => {
      end = found;
    }),
    end: () => end,
  };
}

async function* readLocks(
  lines: AsyncGenerator<Line>,
  header: CaptureFacts,
  file: string,
  onEnd: (end: CaptureEnd) => void,
): AsyncGenerator<CapturedLock> {
  let locks = 0;
  let last = 1;
  let ended = false;
  for await (const { text, number } of lines) {
    if (ended) throw bad(file, number, 'something follows the end line');
    last = number;
    const value = parseJson(text, file, number);
    if (kindOf(value) === 'end') {
      const end = parse(endShape, value, file, number);
      if (end.locks !== locks) {
        throw bad(file, number, `the end line counts ${end.locks} locks, but ${locks} stand here`);
      }
      ended = true;
      onEnd(end);
      continue;
    }
    const { target, lock } = parse(lockLineShape, value, file, number);
    const captured = header.targets[target];
    if (captured === undefined) throw bad(file, number, `there is no target ${target}`);
    locks += 1;
    yield { target: captured, lock };
  }
  if (!ended) throw cutOff(file, last);
}

interface Line {
  readonly text: string;
  /** 1-based. */
  readonly number: number;
}

/** @throws {UsageError} `unreadable-capture` */
async function* readLines(file: string): AsyncGenerator<Line> {
  const splitter = new LineSplitter(longestLine);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 0;
  try {
    const stream: AsyncIterable<Uint8Array> = createReadStream(file);
    for await (const bytes of stream) {
      for (const text of splitter.push(decoder.decode(bytes, { stream: true }))) {
        number += 1;
        yield { text, number };
      }
    }
  } catch (cause) {
    if (cause instanceof InputFileError) throw cause;
    // TextDecoder and LineSplitter complain of bytes and lengths that no capture has.
    if (cause instanceof TypeError || cause instanceof RangeError) {
      throw bad(file, number + 1, 'this is not a line of a capture');
    }
    throw unreadable(file, cause);
  }
}

function parseHeader(line: Line | undefined, file: string): CaptureFacts {
  if (line === undefined) throw notACapture(file);
  let value: unknown;
  try {
    value = JSON.parse(line.text);
  } catch {
    // Said below, with what a capture is.
    throw notACapture(file);
  }
  const { format, schemaVersion } = fieldsOf(value);
  if (format !== captureFormat) throw notACapture(file);
  if (typeof schemaVersion === 'number' && schemaVersion > captureVersion) {
    throw new InputFileError(
      `this capture is of version ${schemaVersion}, and this program reads version ${captureVersion}`,
      { file, line: 1, column: 1 },
      { code: 'bad-capture', hint: 'read it with the newer fencepost that wrote it' },
    );
  }
  return parse(headerShape, value, file, 1);
}

const tailBytes = 1024 * 1024;

/** Looks at the last line of a regular file before anything is printed; a pipe shows it at its end. */
async function checkEnd(file: string): Promise<void> {
  const found = await stat(file);
  if (!found.isFile()) return;
  const handle = await open(file, 'r');
  try {
    const length = Math.min(found.size, tailBytes);
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, found.size - length);
    const tail = buffer.toString('utf8');
    const line = tail.trimEnd().split('\n').at(-1) ?? '';
    if (tail.endsWith('\n') && line.startsWith('{"kind":"end"')) return;
    throw cutOff(file, undefined);
  } finally {
    await handle.close();
  }
}

function parseJson(text: string, file: string, line: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The place says more than the parser's own words.
    throw bad(file, line, 'this line is not JSON');
  }
}

function parse<T>(shape: z.ZodType<T>, value: unknown, file: string, line: number): T {
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const field = issue?.path.map(String).join('.') ?? '';
  throw bad(file, line, `${field === '' ? 'this line' : field}: ${issue?.message ?? 'is wrong'}`);
}

function kindOf(value: unknown): unknown {
  return fieldsOf(value)['kind'];
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function bad(file: string, line: number, message: string): InputFileError {
  return new InputFileError(
    message,
    { file, line, column: 1 },
    { code: 'bad-capture', hint: `the file was edited or damaged; ${anew}`, definite: true },
  );
}

function cutOff(file: string, line: number | undefined): UsageError {
  const place = line === undefined ? '' : ` after line ${line}`;
  return new UsageError(`the capture "${file}" is cut off${place}: its end line is missing`, {
    code: 'capture-cut-off',
    hint: `copy it again as a whole, or ${anew}`,
    definite: true,
  });
}

function notACapture(file: string): UsageError {
  return new UsageError(`"${file}" is not a capture of fencepost`, {
    code: 'not-a-capture',
    hint: 'a capture is made with `fencepost ls --save FILE`',
    definite: true,
  });
}

function unreadable(file: string, cause: unknown): UsageError {
  return new UsageError(
    `cannot read the capture "${file}": ${systemCode(cause, 'it cannot be read')}`,
    {
      code: 'unreadable-capture',
      hint: 'name a file that `fencepost ls --save FILE` wrote',
      cause,
      definite: true,
    },
  );
}
