/**
 * Names that Redisson derives from a lock's name. A name that holds `{` already is its own hash
 * tag: it gets no braces around it.
 * @see redisson/redisson@66863978 RedissonObject.prefixName, suffixName
 */
import { parseText, type Text } from '../domain/text.ts';

/** `prefix:{name}`, or `prefix:name`. */
export function prefixed(prefix: string, name: Text): Text {
  return parseText(name.includes('{') ? `${prefix}:${name}` : `${prefix}:{${name}}`);
}

/** `{name}:suffix`, or `name:suffix`. */
export function suffixed(name: Text, suffix: string): Text {
  return parseText(name.includes('{') ? `${name}:${suffix}` : `{${name}}:${suffix}`);
}

/** The name in `prefix:{name}` or `prefix:na{me}`; undefined when the key is not of this prefix. */
export function nameAfterPrefix(prefix: string, key: Text): Text | undefined {
  if (!key.startsWith(`${prefix}:`)) return undefined;
  const rest = key.slice(prefix.length + 1);
  if (rest === '' || !rest.includes('{')) return undefined;
  const inner = /^\{([^{]+)\}$/.exec(rest)?.[1];
  return parseText(inner ?? rest);
}

/** `<client uuid>:<thread id>`; the uuid is random for each client process. */
export const exactOwner = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+$/;

/** The same shape with an id of some other kind (a custom id generator, a test). */
export const looseOwner = /^[0-9A-Za-z]+(?:-[0-9A-Za-z]+)+:\d+$/;

/** A hold count, or undefined. */
export function holdCount(text: Text | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}
