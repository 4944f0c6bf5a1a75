/**
 * The identity of a grant on Redis: the whole record as it was read. A release compares the value
 * or every field of it in the step that deletes. Two successive grants with the same constant owner
 * are the same bytes, so they have the same identity: conventions warn of such owners.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { InternalError } from '../../domain/errors.ts';
import type { ConventionId, IdentityRecord, LockIdentity } from '../../domain/lock.ts';
import { parseText, type Text } from '../../domain/text.ts';
import { unknown } from '../../domain/known.ts';
import type { RedisRecord, RedisSibling } from '../../conventions/convention.ts';

const text = z.string().transform(parseText);
const type = z.enum(['string', 'hash', 'list', 'set', 'zset', 'stream', 'other', 'none']);
const sibling = z.object({
  key: text,
  type,
  ttlMs: z.number().optional(),
  value: text.optional(),
  fields: z.array(z.tuple([text, text])).optional(),
  members: z.array(z.object({ member: text, score: z.number().optional() })).optional(),
});
const stored = sibling.extend({
  database: z.number(),
  convention: z.string(),
  siblings: z.array(sibling),
});

/** A record with what its convention was, as kept in an identity. */
export interface StoredRecord {
  readonly database: number;
  readonly convention: ConventionId;
  readonly record: RedisRecord;
}

/** What a release compares, as one string; also the source of the short token. */
export function grantBytes(record: RedisSibling): string {
  const fields = [...(record.fields ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([record.key, record.type, record.value ?? null, fields]);
}

/** Token `r1.` and 32 bits of the grant's SHA-256. */
export function expectToken(database: number, record: RedisSibling): string {
  const bytes = `${database} ${grantBytes(record)}`;
  return `r1.${createHash('sha256').update(bytes).digest('hex').slice(0, 8)}`;
}

export function toIdentity(
  database: number,
  convention: ConventionId,
  record: RedisRecord,
): LockIdentity {
  const siblings = [...record.siblings.values()].filter((one) => one.subscribers === undefined);
  const json = JSON.stringify({
    database,
    convention,
    ...plain(record),
    siblings: siblings.map(plain),
  });
  return { expect: expectToken(database, record), record: brand(json) };
}

function plain(one: RedisSibling): Record<string, unknown> {
  const { key, type: kind, ttlMs, value, members } = one;
  return { key, type: kind, ttlMs, value, members, fields: one.fields && [...one.fields] };
}

function brand(json: string): IdentityRecord {
  return json as IdentityRecord;
}

/** @throws {InternalError} when it is not one of ours */
export function readIdentity(identity: IdentityRecord): StoredRecord {
  const parsed = stored.safeParse(parseJson(identity));
  if (!parsed.success) {
    throw new InternalError('a lock identity of another backend was passed to Redis', {
      code: 'foreign-identity',
      cause: parsed.error,
      definite: true,
    });
  }
  const { database, convention, siblings, ...own } = parsed.data;
  return {
    database,
    convention,
    record: {
      system: 'redis',
      ...revive(own),
      siblings: new Map<Text, RedisSibling>(siblings.map((one) => [one.key, revive(one)])),
      serverTimeMs: unknown('the time of the snapshot was not kept'),
    },
  };
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // Not JSON at all: the schema refuses it with the proper error.
    return undefined;
  }
}

function revive(one: z.output<typeof sibling>): RedisSibling {
  const { key, type: kind, ttlMs, value, members, fields } = one;
  return {
    key,
    type: kind,
    ttlMs,
    ...(value === undefined ? {} : { value }),
    ...(fields === undefined ? {} : { fields: new Map(fields) }),
    ...(members === undefined
      ? {}
      : {
          members: members.map(({ member, score }) =>
            score === undefined ? { member } : { member, score },
          ),
        }),
  };
}
