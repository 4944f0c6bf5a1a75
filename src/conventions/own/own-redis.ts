/** A convention on Redis from a team's description: a string or a hash, its fence and its wake-up. */
import type { Fence, FencingToken } from '../../domain/fence.ts';
import type { Waiters } from '../../domain/holder.ts';
import { known, unknown } from '../../domain/known.ts';
import { parseText, type Text } from '../../domain/text.ts';
import type { Decoded, RedisConvention, RedisRecord, RedisRelease } from '../convention.ts';
import { weakness } from '../owner-shape.ts';
import { heldForUnknown, weakNote } from '../string-lock.ts';
import { wholeKey, type OwnRedis, type Wake } from './description.ts';
import { readOwner } from './owner.ts';
import { fillTemplate, matchTemplate, type Captures, type Template } from './template.ts';

export function ownRedis(description: OwnRedis): RedisConvention {
  const captures = (key: Text): Captures | undefined => capturesOf(description, key);
  const helpers = helperTemplates(description);
  return {
    id: description.id,
    title: description.title,
    system: 'redis',
    recognises: `${description.type} ${description.key.source}`,
    ...(description.wake.length === 0 ? {} : { wakes: description.wake.map(wakeWords).join(', ') }),
    ...(description.neverRelease === undefined ? {} : { forbidden: description.neverRelease }),
    types: [description.type],
    ...(description.grantFields === undefined ? {} : { grantFields: description.grantFields }),
    matches: (record) =>
      captures(record.key) !== undefined && ownerIn(description, record) !== undefined
        ? description.confidence
        : undefined,
    siblings: ({ key }) => [
      ...filled(helpers, captures(key)).map((one) => ({ key: one, what: 'key' as const })),
      ...filled(channelTemplates(description), captures(key)).map((one) => ({
        key: one,
        what: 'channel' as const,
      })),
    ],
    helperOf: (key) => lockOfHelper(description.key, helpers, key),
    keyOf: (name) => keyOf(description.key, name),
    decode: (record) => decode(description, record),
    release: (record) => release(description, record),
  };
}

/** The captures of a key in this layout, and the whole key as `key`. */
function capturesOf({ key: template }: OwnRedis, key: Text): Captures | undefined {
  const captures = matchTemplate(template, key);
  return captures && new Map(captures).set(wholeKey, key);
}

function wakeWords(wake: Wake): string {
  return 'publish' in wake
    ? `PUBLISH ${wake.publish.source} ${wake.message.source}`.trimEnd()
    : `LPUSH ${wake.push.source} ${wake.value.source}`;
}

/** Keys that belong to a lock. */
function helperTemplates({ fence, wake }: OwnRedis): readonly Template[] {
  const lists = wake.flatMap((one) => ('push' in one ? [one.push] : []));
  return fence === undefined ? lists : [fence, ...lists];
}

function channelTemplates({ wake }: OwnRedis): readonly Template[] {
  return wake.flatMap((one) => ('publish' in one ? [one.publish] : []));
}

function filled(templates: readonly Template[], captures: Captures | undefined): readonly Text[] {
  return templates.flatMap((one) => fillTemplate(one, captures ?? new Map()) ?? []);
}

function lockOfHelper(key: Template, helpers: readonly Template[], name: Text): Text | undefined {
  for (const helper of helpers) {
    const captures = matchTemplate(helper, name);
    const lock = captures?.get(wholeKey) ?? (captures && fillTemplate(key, captures));
    if (lock !== undefined && matchTemplate(key, lock) !== undefined) return lock;
  }
  return undefined;
}

/** What people type for the lock: its key, or the one capture in it. */
function keyOf(key: Template, name: Text): Text {
  const [only, ...others] = key.captures;
  if (only === undefined || others.length > 0 || matchTemplate(key, name)) return name;
  return fillTemplate(key, new Map([[only, name]])) ?? name;
}

function ownerIn(
  { owner }: OwnRedis,
  record: RedisRecord,
): ReturnType<typeof readOwner> | undefined {
  const value = owner.field === undefined ? record.value : record.fields?.get(owner.field);
  return value === undefined ? undefined : readOwner(owner, value);
}

function decode(description: OwnRedis, record: RedisRecord): Decoded {
  const captures = capturesOf(description, record.key);
  const holder = ownerIn(description, record);
  const weak = holder === undefined ? undefined : weaknessOf(description, record, holder.owner);
  return {
    state: record.ttlMs === undefined ? 'no-ttl' : 'held',
    mode: 'exclusive',
    holders:
      holder === undefined
        ? unknown(`the record names no owner in the way that ${description.id} says`)
        : known([{ ...holder, holds: 1 }]),
    waiters: waitersOf(description, record, captures),
    fence: fenceOf(description, record, captures),
    heldForMs: heldForUnknown,
    helpers: filled(helperTemplates(description), captures).filter((one) =>
      record.siblings.has(one),
    ),
    notes: weak === undefined ? [] : [weakNote(weak)],
    weakOwner: weak !== undefined,
  };
}

/** A release compares the whole record, so what stands beside the owner counts as well. */
function weaknessOf(
  { owner, grantFields }: OwnRedis,
  record: RedisRecord,
  token: Text,
): string | undefined {
  const why = weakness(token);
  if (why === undefined || owner.json !== undefined) return why;
  const compared =
    record.value === undefined
      ? [...(record.fields ?? [])].flatMap(([name, value]) =>
          grantFields === undefined || grantFields.includes(name) ? [value] : [],
        )
      : [record.value];
  return compared.some((value) => weakness(value) === undefined) ? undefined : why;
}

function waitersOf(
  description: OwnRedis,
  record: RedisRecord,
  captures: Captures | undefined,
): Waiters {
  for (const channel of filled(channelTemplates(description), captures)) {
    const subscribers = record.siblings.get(channel)?.subscribers;
    if (subscribers?.kind === 'unknown') return subscribers;
    if (subscribers !== undefined) {
      return { kind: 'count', count: subscribers.value, source: `subscribers of ${channel}` };
    }
  }
  const list = description.wake.some((one) => 'push' in one);
  return {
    kind: 'unknown',
    reason: list
      ? 'waiters sleep on a list, and the server does not tell who sleeps on which'
      : 'this layout keeps no record of waiters',
  };
}

function fenceOf({ fence }: OwnRedis, record: RedisRecord, captures: Captures | undefined): Fence {
  if (fence === undefined) return { kind: 'none' };
  const [key] = filled([fence], captures);
  const token = key === undefined ? undefined : parseToken(record.siblings.get(key)?.value);
  return token === undefined
    ? { kind: 'unknown', reason: `its counter ${key ?? fence.source} holds no number` }
    : { kind: 'token', token, source: 'counter' };
}

function parseToken(value: Text | undefined): FencingToken | undefined {
  return value !== undefined && /^\d{1,19}$/.test(value) ? BigInt(value) : undefined;
}

function release(description: OwnRedis, record: RedisRecord): RedisRelease {
  const captures = capturesOf(description, record.key) ?? new Map<string, Text>();
  const words = (template: Template): Text => fillTemplate(template, captures) ?? parseText('');
  return {
    alsoDelete: [],
    fenceKey: description.fence === undefined ? undefined : words(description.fence),
    publish: description.wake.flatMap((one) =>
      'publish' in one
        ? [
            {
              channel: words(one.publish),
              message: words(one.message),
              ...(one.sharded ? { sharded: true as const } : {}),
            },
          ]
        : [],
    ),
    push: description.wake.flatMap((one) =>
      'push' in one ? [{ key: words(one.push), value: words(one.value), ttlMs: one.ttlMs }] : [],
    ),
    warnings: description.warnings,
    hold: holdOf(description),
    ...(description.neverRelease === undefined ? {} : { forbidden: description.neverRelease }),
  };
}

/** Only where the whole value is the owner is it known how the operator's token is written. */
function holdOf({ type, owner, id }: OwnRedis): RedisRelease['hold'] {
  return type === 'string' && owner.json === undefined && owner.pattern === undefined
    ? { as: 'string' }
    : { as: 'nothing', reason: `${id} says how an owner reads, not how one is written` };
}
