/** One grant on Redis: what of a record a release compares, and what it takes away. */
import type { Text } from '../../domain/text.ts';
import type { RedisConvention, RedisGrant, RedisRecord } from '../../conventions/convention.ts';

/** The grant of `holder`, or of the only one; undefined when there is none, or it was not read whole. */
export function grantOf(
  record: RedisRecord,
  convention: RedisConvention,
  holder?: Text,
): RedisGrant | undefined {
  if (convention.grantOf !== undefined) return convention.grantOf(record, holder);
  const { key, value, fields } = record;
  if (value !== undefined) return { key, type: 'string', want: [value], exact: true };
  if (fields === undefined) return undefined;
  const want = grantPairs(record, convention).flat();
  return { key, type: 'hash', want, exact: convention.grantFields === undefined };
}

/** Field and value pairs that a release compares; sorted, because a hash has no order. */
function grantPairs(
  record: RedisRecord,
  { grantFields }: RedisConvention,
): readonly (readonly [Text, Text])[] {
  return [...(record.fields ?? [])]
    .filter(([name]) => grantFields === undefined || grantFields.includes(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** A grant as one string: equal strings are the same grant. Undefined: there is none. */
export function grantBytes(
  record: RedisRecord,
  convention: RedisConvention,
  holder?: Text,
): string | undefined {
  const grant = grantOf(record, convention, holder);
  return grant === undefined
    ? undefined
    : JSON.stringify([grant.key, grant.type, grant.want, grant.exact]);
}
