/** What an arm has set up, undone in reverse order; what cannot be undone is told, never thrown. */
import type { Undo, UndoJournal } from './undo-journal.ts';

export class Undoing {
  readonly #journal: UndoJournal;
  readonly #stack: { readonly what: string; readonly undo: () => Promise<void> }[] = [];

  constructor(journal: UndoJournal) {
    this.#journal = journal;
  }

  /** Remembers how to close something that needs no journal: it ends with this process. */
  push(what: string, undo: () => Promise<void>): void {
    this.#stack.push({ what, undo });
  }

  /** Writes the deed to the journal before it is done, and crosses it out once undone. */
  announce(what: string, entry: Undo, undo: () => Promise<void>): void {
    const id = this.#journal.will(what, entry);
    this.push(what, async () => {
      await undo();
      this.#journal.done(id);
    });
  }

  /** Undoes everything, latest first. @returns what failed, with the reason */
  async run(): Promise<readonly string[]> {
    const failures: string[] = [];
    for (let entry = this.#stack.pop(); entry !== undefined; entry = this.#stack.pop()) {
      try {
        await entry.undo();
      } catch (error) {
        failures.push(`${entry.what}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    return failures;
  }
}
