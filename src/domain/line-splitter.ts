/** Splits a stream of text chunks into lines, wherever the chunks are cut. */

/** Keeps the unfinished end between chunks; `\n` ends a line and is not part of it. */
export class LineSplitter {
  readonly #maxLength: number;
  #rest = '';

  /** @param maxLength of one line in UTF-16 code units; a longer one makes `push` throw. */
  constructor(maxLength = 1_000_000) {
    this.#maxLength = maxLength;
  }

  /**
   * @returns the lines that this chunk finished
   * @throws {RangeError} when an unfinished line grows beyond the maximum
   */
  push(chunk: string): readonly string[] {
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length > this.#maxLength) {
      throw new RangeError(`a line is longer than ${this.#maxLength} characters`);
    }
    return lines;
  }
}
