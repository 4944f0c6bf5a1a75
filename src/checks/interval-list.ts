/** Stretches of time, answering which of them first meets another in O(log n) each. */

export interface Interval<Value> {
  readonly from: number;
  /** Infinity for one that never ends. */
  readonly to: number;
  readonly value: Value;
}

/** Sorted by start, with a tree of the largest end below each node to skip what is over. */
export class IntervalList<Value> {
  readonly #sorted: readonly Interval<Value>[];
  readonly #leaves: number;
  readonly #ends: Float64Array;

  constructor(intervals: readonly Interval<Value>[]) {
    this.#sorted = intervals.filter(({ from, to }) => to > from).sort((a, b) => a.from - b.from);
    this.#leaves = 2 ** Math.ceil(Math.log2(Math.max(1, this.#sorted.length)));
    this.#ends = new Float64Array(2 * this.#leaves).fill(-Infinity);
    this.#sorted.forEach(({ to }, index) => (this.#ends[this.#leaves + index] = to));
    for (let node = this.#leaves - 1; node > 0; node -= 1) {
      this.#ends[node] = Math.max(this.#end(2 * node), this.#end(2 * node + 1));
    }
  }

  /** The earliest interval that shares more than a point with [from, to] and passes `wanted`. */
  firstMeeting(
    from: number,
    to: number,
    wanted: (value: Value) => boolean = () => true,
  ): Value | undefined {
    for (let at = this.#next(0, from); ; at = this.#next(at + 1, from)) {
      const interval = this.#sorted[at];
      if (interval === undefined || interval.from >= to) return undefined;
      if (wanted(interval.value)) return interval.value;
    }
  }

  /** First place from `start` on whose interval ends after `instant`. */
  #next(start: number, instant: number): number {
    if (start >= this.#leaves) return this.#leaves;
    let node = this.#leaves + start;
    while (this.#end(node) <= instant) {
      while (node % 2 === 1) node >>= 1;
      if (node === 0) return this.#leaves;
      node += 1;
    }
    while (node < this.#leaves) node = this.#end(2 * node) > instant ? 2 * node : 2 * node + 1;
    return node - this.#leaves;
  }

  #end(node: number): number {
    return this.#ends[node] ?? -Infinity;
  }
}
