/**
 * Writes a capture so that its name never stands for half of one: into a draft beside it, which is
 * on the disk before it gets its name.
 */
import { link, open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import type { CaptureFacts, CaptureTally } from '../domain/capture.ts';
import { systemCode, UsageError } from '../domain/errors.ts';
import type { LockSnapshot } from '../domain/lock.ts';
import { captureFormat, captureVersion, toLine } from './capture-format.ts';
import { lockJson } from './lock-shape.ts';

const batchChars = 65_536;

/** One capture on its way to the disk: `lock` for each lock, then `finish`; `abandon` always. */
export class CaptureWriter {
  readonly #file: string;
  readonly #draft: string;
  readonly #replace: boolean;
  readonly #handle: FileHandle;
  #batch: string;
  #locks = 0;

  private constructor(file: string, draft: string, replace: boolean, handle: FileHandle) {
    this.#file = file;
    this.#draft = draft;
    this.#replace = replace;
    this.#handle = handle;
    this.#batch = '';
  }

  /**
   * Opens a draft beside `file`, readable by its owner only: owner tokens stand in it.
   * @param replace whether a file of that name may be there, and is replaced at the end
   * @throws {UsageError} `capture-exists`, `unwritable-capture`
   */
  static async create(file: string, replace: boolean): Promise<CaptureWriter> {
    await checkPlace(file, replace);
    const draft = `${file}.${process.pid}.draft`;
    const handle = await writing(file, () => open(draft, 'wx', 0o600));
    return new CaptureWriter(file, draft, replace, handle);
  }

  /** Comes first. */
  begin(facts: CaptureFacts): void {
    const format = { format: captureFormat, schemaVersion: captureVersion };
    this.#batch += toLine({ kind: 'header', ...format, ...facts });
  }

  /** @param target its place among the targets of the header */
  async lock(lock: LockSnapshot, target: number): Promise<void> {
    this.#locks += 1;
    this.#batch += toLine({ kind: 'lock', target, lock: lockJson(lock) });
    if (this.#batch.length >= batchChars) await this.#flush();
  }

  /** Gives the file its name. @throws {UsageError} `capture-exists`, `unwritable-capture` */
  async finish(tallies: readonly CaptureTally[]): Promise<void> {
    this.#batch += toLine({ kind: 'end', locks: this.#locks, tallies });
    await this.#flush();
    await writing(this.#file, () => this.#handle.sync());
    await nameDraft(this.#draft, this.#file, this.#replace);
  }

  /** Closes and removes the draft. Idempotent; what `finish` named stays. */
  async abandon(): Promise<void> {
    await this.#handle.close();
    await rm(this.#draft, { force: true });
  }

  async #flush(): Promise<void> {
    const lines = this.#batch;
    this.#batch = '';
    await writing(this.#file, () => this.#handle.appendFile(lines));
  }
}

/** Told before anything is read, where it can be. */
async function checkPlace(file: string, replace: boolean): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return;
  if (!replace) throw exists(file);
  if (!found.isFile()) throw unwritable(file, 'it is no regular file', undefined);
}

/** A link never replaces what came to stand there meanwhile; a rename does. */
async function nameDraft(draft: string, file: string, replace: boolean): Promise<void> {
  try {
    await link(draft, file);
  } catch (error) {
    const code = systemCode(error, 'failed');
    if (code === 'EEXIST' && !replace) throw exists(file);
    // Also for file systems without hard links.
    await writing(file, () => rename(draft, file));
  }
}

async function writing<T>(file: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (cause) {
    throw unwritable(file, systemCode(cause, 'failed'), cause);
  }
}

function unwritable(file: string, reason: string, cause: unknown): UsageError {
  return new UsageError(`cannot write the capture "${file}": ${reason}`, {
    code: 'unwritable-capture',
    hint: 'nothing was saved; name a file in a folder that you may write to',
    cause,
    definite: true,
  });
}

function exists(file: string): UsageError {
  return new UsageError(`"${file}" is there already, and a capture replaces nothing unasked`, {
    code: 'capture-exists',
    hint: 'name another file, or add --force to replace it',
    definite: true,
  });
}
