/** Counters of one listing over all its targets, and the summary made of them. */
import type { ListTally } from '../../backends/backend.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import type { ListSummary } from '../../reports/locks-list.ts';
import { needsAttention } from '../../reports/locks-words.ts';

export class Totals {
  readonly #startedMs = performance.now();
  readonly #limit: number;
  readonly #all: boolean;
  readonly #holes: string[] = [];
  #locks = 0;
  #needAttention = 0;
  #read = 0;
  #others = 0;
  #hidden = 0;
  #limited = false;

  constructor(options: { readonly limit?: number; readonly all?: boolean }) {
    this.#limit = options.limit ?? Infinity;
    this.#all = options.all ?? false;
  }

  /** Asked with one more lock at hand: true means that it must be left out. */
  full(): boolean {
    this.#limited = this.#locks >= this.#limit;
    return this.#limited;
  }

  count(lock: LockSnapshot): void {
    this.#locks += 1;
    if (needsAttention(lock)) this.#needAttention += 1;
  }

  add(tally: Readonly<Omit<ListTally, 'holes'>> & { readonly holes: readonly string[] }): void {
    this.#read += tally.read;
    this.#others += tally.others;
    this.#hidden += tally.hidden;
    this.#holes.push(...tally.holes);
  }

  /** A target that failed, whatever of it was listed before. */
  miss(target: string): void {
    this.#holes.push(missed(target));
  }

  summary(): ListSummary {
    return {
      locks: this.#locks,
      needAttention: this.#needAttention,
      read: this.#read,
      others: this.#others,
      hidden: this.#hidden,
      holes: this.#holes,
      elapsedMs: performance.now() - this.#startedMs,
      limited: this.#limited,
      all: this.#all,
    };
  }
}

/** What a listing lacks when one of its targets failed. */
export function missed(target: string): string {
  return `nothing of ${target}, or not all: reading it failed`;
}
