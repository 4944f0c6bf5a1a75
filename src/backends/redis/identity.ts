/**
 * The identity of a grant on Redis: the whole record as it was read, and whose part of it is meant.
 * A release compares that part in the step that deletes (grant.ts). Two successive grants with the same constant owner
 * are the same bytes, so they have the same identity: conventions warn of such owners.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { InternalError } from '../../domain/errors.ts';
import type { IdentityRecord, LockIdentity } from '../../domain/lock.ts';
import { parseText, type Text } from '../../domain/text.ts';
import { unknown } from '../../domain/known.ts';
import type { RedisConvention, RedisRecord, RedisSibling } from '../../conventions/convention.ts';
import { grantBytes } from './grant.ts';
import type { RedisConventions } from './recognise.ts';

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
  runId: z.string().optional(),
  convention: z.string(),
  holder: text.optional(),
  siblings: z.array(sibling),
});

/** A record with what its convention was, as kept in an identity. */
export interface StoredRecord {
  readonly database: number;
  /** Server process that the snapshot was taken on, where the account could see it. */
  readonly runId: string | undefined;
  readonly convention: RedisConvention;
  readonly record: RedisRecord;
  /** Whose part of it is meant, where several hold it. */
  readonly holder?: Text;
}

/** Where and how a grant was read. */
export interface GrantSource {
  readonly database: number;
  readonly runId: string | undefined;
}

/**
 * The grant, and the token `r1.` with 32 bits of its SHA-256. Both are made when first asked for:
 * most rows of a long listing are never released. (A getter on each snapshot would do as well, but
 * gives each its own hidden class, which costs more than everything else in a listing.)
 */
class RedisIdentity implements LockIdentity {
  readonly #source: GrantSource;
  readonly #convention: RedisConvention;
  readonly #record: RedisRecord;
  readonly #holder: Text | undefined;

  constructor(
    source: GrantSource,
    convention: RedisConvention,
    record: RedisRecord,
    holder: Text | undefined,
  ) {
    this.#source = source;
    this.#convention = convention;
    this.#record = record;
    this.#holder = holder;
  }

  get expect(): string {
    const grant = grantBytes(this.#record, this.#convention, this.#holder) ?? '';
    const bytes = `${this.#source.database} ${grant}`;
    return `r1.${createHash('sha256').update(bytes).digest('hex').slice(0, 8)}`;
  }

  get record(): IdentityRecord {
    const { database, runId } = this.#source;
    const siblings = [...this.#record.siblings.values()];
    return brand(
      JSON.stringify({
        database,
        runId,
        convention: this.#convention.id,
        holder: this.#holder,
        ...plain(this.#record),
        siblings: siblings.filter((one) => one.subscribers === undefined).map(plain),
      }),
    );
  }

  /** Accessors of a class are left out by JSON otherwise. */
  toJSON(): LockIdentity {
    return { expect: this.expect, record: this.record };
  }
}

export function toIdentity(
  source: GrantSource,
  convention: RedisConvention,
  record: RedisRecord,
  holder?: Text,
): LockIdentity {
  return new RedisIdentity(source, convention, record, holder);
}

function plain(one: RedisSibling): Record<string, unknown> {
  const { key, type: kind, ttlMs, value, members } = one;
  return { key, type: kind, ttlMs, value, members, fields: one.fields && [...one.fields] };
}

function brand(json: string): IdentityRecord {
  return json as IdentityRecord;
}

/** @throws {InternalError} when it is not one of ours */
export function readIdentity(
  identity: IdentityRecord,
  conventions: RedisConventions,
): StoredRecord {
  const parsed = stored.safeParse(parseJson(identity));
  if (!parsed.success) {
    throw new InternalError('a lock identity of another backend was passed to Redis', {
      code: 'foreign-identity',
      cause: parsed.error,
      definite: true,
    });
  }
  const { database, runId, convention, holder, siblings, ...own } = parsed.data;
  return {
    database,
    runId,
    convention: conventions.byId(convention),
    ...(holder === undefined ? {} : { holder }),
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
