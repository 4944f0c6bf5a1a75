/** Reads the owner out of a record as a team describes it. Never throws, whatever the bytes. */
import type { Holder, OwnerPlace } from '../../domain/holder.ts';
import { known, mapKnown, type Known } from '../../domain/known.ts';
import { stringToText, textToBytes, type Text } from '../../domain/text.ts';
import type { Decoded } from '../convention.ts';
import { placeInValue } from '../owner-shape.ts';
import type { OwnerSource } from './description.ts';
import { matchTemplate, type Captures } from './template.ts';

/** What a pattern may capture; `any…` names what is of no interest. */
export const ownerCaptures: readonly string[] = ['owner', 'host', 'pid', 'thread'];

/** Undefined when the value is not as the description says. */
export function readOwner(
  source: OwnerSource,
  value: Text,
): Pick<Holder, 'owner' | 'place'> | undefined {
  const text = source.json === undefined ? value : atPath(value, source.json);
  if (text === undefined) return undefined;
  if (source.pattern === undefined) return { owner: text, place: placeInValue(text) };
  const captures = matchTemplate(source.pattern, text);
  if (captures === undefined) return undefined;
  return { owner: captures.get('owner') ?? text, place: placeIn(captures) ?? placeInValue(text) };
}

/** Names holders and waiters anew by what `valueAt` gives of their records; an empty one names nobody. */
export function withOwners(
  decoded: Decoded,
  source: OwnerSource,
  valueAt: (record: Text) => Text | undefined,
): Decoded {
  const read = (record: Text | undefined): ReturnType<typeof readOwner> => {
    const value = record === undefined ? undefined : valueAt(record);
    return value === undefined || value === '' ? undefined : readOwner(source, value);
  };
  const { holders, waiters } = decoded;
  return {
    ...decoded,
    holders: mapKnown(holders, (list) => list.map((one) => ({ ...one, ...read(one.record) }))),
    waiters:
      waiters.kind === 'exact'
        ? { kind: 'exact', list: waiters.list.map((one) => ({ ...one, ...read(one.record) })) }
        : waiters,
  };
}

function placeIn(captures: Captures): Known<OwnerPlace> | undefined {
  const [host, pid, thread] = ['host', 'pid', 'thread'].map((name) => captures.get(name));
  if (host === undefined && pid === undefined && thread === undefined) return undefined;
  return known({
    ...(host === undefined ? {} : { host }),
    ...(pid !== undefined && /^\d{1,9}$/.test(pid) ? { pid: Number(pid) } : {}),
    ...(thread === undefined ? {} : { thread }),
    source: 'value',
  });
}

function atPath(value: Text, path: readonly string[]): Text | undefined {
  let at: unknown = parseJson(value);
  for (const step of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = new Map<string, unknown>(Object.entries(at)).get(step);
  }
  if (typeof at === 'string') return stringToText(at);
  return typeof at === 'number' ? stringToText(String(at)) : undefined;
}

function parseJson(value: Text): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(textToBytes(value)));
  } catch {
    // Not JSON: then it is not in this layout.
    return undefined;
  }
}
