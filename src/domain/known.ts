/**
 * What we know, and what we do not. `unknown` (not allowed to look, or nobody keeps it) is never
 * written as null, zero or none; it carries the reason and, where there is one, the remedy.
 */

export type Known<T> =
  | { readonly kind: 'known'; readonly value: T }
  | {
      readonly kind: 'partial';
      readonly value: T;
      readonly reason: string;
      readonly remedy?: string;
    }
  | { readonly kind: 'unknown'; readonly reason: string; readonly remedy?: string };

/** A fact that was read. */
export function known<T>(value: T): Known<T> {
  return { kind: 'known', value };
}

/** A fact that was read with holes: `value` is a lower bound or a part. */
export function partial<T>(value: T, reason: string, remedy?: string): Known<T> {
  return { kind: 'partial', value, reason, ...(remedy === undefined ? {} : { remedy }) };
}

/** A fact that could not be read. `remedy` says what would fill the hole (a permission, a flag). */
export function unknown(reason: string, remedy?: string): Known<never> {
  return remedy === undefined ? { kind: 'unknown', reason } : { kind: 'unknown', reason, remedy };
}

/** The value when there is one, complete or partial; otherwise `undefined`. */
export function valueOf<T>(fact: Known<T>): T | undefined {
  return fact.kind === 'unknown' ? undefined : fact.value;
}

/** Applies `change` to the value, keeping reason and remedy. */
export function mapKnown<T, U>(fact: Known<T>, change: (value: T) => U): Known<U> {
  return fact.kind === 'unknown' ? fact : { ...fact, value: change(fact.value) };
}
