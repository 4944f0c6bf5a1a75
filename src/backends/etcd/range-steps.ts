/**
 * Cuts a long range into steps. For each page etcd walks the names of the whole range it was asked
 * for, however few keys it returns: pages of the rest of a range of n keys cost n² / page. So a step
 * asks only for the keys that share a beginning, longer while there are too many, shorter while
 * there are few.
 */
import { prefixRange, type KeyRange } from './key-range.ts';

/** What a page says about the step that was asked for. */
export interface StepAnswer {
  readonly first: Uint8Array | undefined;
  readonly last: Uint8Array | undefined;
  readonly returned: number;
  /** Whether the step has more keys than were returned. */
  readonly more: boolean;
  /** Keys in the whole step. */
  readonly count: number;
}

/** A step that holds more than this many pages is cut. */
const longestStepPages = 4;

export class RangeSteps {
  readonly #end: Uint8Array | undefined;
  #from: Uint8Array;
  /** Bytes of `from` that all keys of the step begin with; 0: the whole rest. */
  #depth = 0;

  constructor({ from, end }: KeyRange) {
    this.#from = from;
    this.#end = end;
  }

  /** The range to ask for now. */
  step(): KeyRange {
    return { from: this.#from, end: this.#bound() ?? this.#end };
  }

  /** Goes on after a page of at most `limit` keys. @returns whether there is anything left to ask for */
  took(page: StepAnswer, limit: number): boolean {
    if (page.more && page.last !== undefined) {
      this.#from = Uint8Array.from([...page.last, 0]);
      if (page.count > longestStepPages * limit) this.#cut(page.first ?? page.last, page.last);
      return true;
    }
    const bound = this.#bound();
    if (bound === undefined) return false;
    this.#from = bound;
    this.#depth = bound.length;
    if (page.returned * longestStepPages < limit) this.#depth -= 1;
    return true;
  }

  #cut(first: Uint8Array, last: Uint8Array): void {
    this.#depth = Math.min(Math.max(this.#depth + 1, sharedBytes(first, last)), last.length);
  }

  /** End of the step, where it comes before the end of the range. */
  #bound(): Uint8Array | undefined {
    if (this.#end === undefined || this.#depth === 0) return undefined;
    const { end } = prefixRange(this.#from.subarray(0, this.#depth));
    if (end === undefined || isOpen(end)) return undefined;
    return isOpen(this.#end) || Buffer.compare(end, this.#end) < 0 ? end : undefined;
  }
}

/** etcd's way to write a range without an end. */
function isOpen(end: Uint8Array): boolean {
  return end.length === 1 && end[0] === 0;
}

function sharedBytes(a: Uint8Array, b: Uint8Array): number {
  const most = Math.min(a.length, b.length);
  let at = 0;
  while (at < most && a[at] === b[at]) at += 1;
  return at;
}
