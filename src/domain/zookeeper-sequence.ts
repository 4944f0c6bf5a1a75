/**
 * ZooKeeper's sequence suffix: ten characters of a signed 32-bit counter that the parent keeps. It
 * goes on past 2147483647 with negative numbers and comes round to zero again.
 */

const span = 2 ** 32;

/**
 * `%010d` as the source of a regular expression: the server pads with zeros, the sign included. So
 * the minus of eleven characters is no hyphen before a padded number, as in `n-0000000001`.
 */
const paddedNumber = String.raw`\d{10}|-\d{9}|-[12]\d{9}`;
const wholly = new RegExp(`^(?:${paddedNumber})$`);

/** The end of a contender's name, as the source of a regular expression with the group `sequence`. */
export const sequenceSuffix = `(?<sequence>${paddedNumber})$`;

/**
 * Parses the suffix (`%010d` of the counter). After 2147483647 the server writes `-2147483648`; the
 * value here is unsigned, so it goes on growing. Undefined: not such a suffix.
 */
export function parseSequence(digits: string): number | undefined {
  if (!wholly.test(digits)) return undefined;
  const signed = Number(digits);
  if (signed > 2 ** 31 - 1 || signed < -(2 ** 31)) return undefined;
  return signed >>> 0;
}

/** The counter passed 2147483647: libraries that sort the suffix as text or signed now disagree. */
export function hasWrapped(sequence: number): boolean {
  return sequence > 2 ** 31 - 1;
}

/**
 * A new list in the order of creation. The counter is cyclic: when items lie on both sides of its
 * end, the ones after the end come last. Items of one sequence keep their order.
 */
export function inSequenceOrder<T extends { readonly sequence: number }>(
  items: readonly T[],
): readonly T[] {
  let [least, most] = [Infinity, -Infinity];
  for (const { sequence } of items) {
    least = Math.min(least, sequence);
    most = Math.max(most, sequence);
  }
  const overEnd = most - least > span / 2;
  const rank = ({ sequence }: T): number =>
    overEnd && sequence < span / 2 ? sequence + span : sequence;
  return [...items].sort((a, b) => rank(a) - rank(b));
}
