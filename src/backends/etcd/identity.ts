/**
 * The identity of a grant on etcd: cluster, key, the two revisions and the lease. A key that was
 * deleted and created again, put anew, or moved to another lease differs in one of them.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { InternalError } from '../../domain/errors.ts';
import type { ConventionId, IdentityRecord, LockIdentity } from '../../domain/lock.ts';
import { parseText, type Text } from '../../domain/text.ts';
import type { EtcdKey, EtcdRecord } from '../../conventions/convention.ts';

const text = z.string().transform(parseText);
const number = z.string().regex(/^\d+$/).transform(BigInt);
const stored = z.object({
  clusterId: z.string(),
  convention: z.string(),
  name: text,
  key: text,
  createRevision: number,
  modRevision: number,
  lease: number,
});

/** One grant of one lock. */
export interface StoredGrant {
  readonly clusterId: string;
  readonly convention: ConventionId;
  /** The lock. */
  readonly name: Text;
  /** The holder's key. */
  readonly key: Text;
  readonly createRevision: bigint;
  readonly modRevision: bigint;
  readonly lease: bigint;
}

/** Whether this key is still exactly the grant. */
export function isGrant(grant: StoredGrant, key: EtcdKey): boolean {
  return (
    key.key === grant.key &&
    key.createRevision === grant.createRevision &&
    key.modRevision === grant.modRevision &&
    key.lease === grant.lease
  );
}

/**
 * A grant whose identity is made when first asked for: most rows of a long listing are never
 * released. (A getter on each snapshot would give each a hidden class of its own.)
 */
class EtcdIdentity implements LockIdentity {
  readonly #make: () => LockIdentity;
  #made: LockIdentity | undefined;

  constructor(make: () => LockIdentity) {
    this.#make = make;
  }

  get expect(): string {
    return (this.#made ??= this.#make()).expect;
  }

  get record(): IdentityRecord {
    return (this.#made ??= this.#make()).record;
  }

  /** Accessors of a class are left out by JSON otherwise. */
  toJSON(): LockIdentity {
    return { expect: this.expect, record: this.record };
  }
}

/** The grant, and the token `e1.CREATE.MOD.` with 32 bits over all of it. */
export function toIdentity(
  clusterId: string,
  convention: ConventionId,
  record: EtcdRecord,
  holder: EtcdKey,
): LockIdentity {
  return new EtcdIdentity(() => makeIdentity(clusterId, convention, record, holder));
}

function makeIdentity(
  clusterId: string,
  convention: ConventionId,
  record: EtcdRecord,
  holder: EtcdKey,
): LockIdentity {
  const { key, createRevision, modRevision, lease } = holder;
  const numbers = [createRevision, modRevision, lease].map(String);
  const hash = createHash('sha256')
    .update(JSON.stringify([clusterId, key, ...numbers]))
    .digest('hex')
    .slice(0, 8);
  const json = JSON.stringify({
    clusterId,
    convention,
    name: record.name,
    key,
    createRevision: numbers[0],
    modRevision: numbers[1],
    lease: numbers[2],
  });
  return { expect: `e1.${createRevision}.${modRevision}.${hash}`, record: brand(json) };
}

function brand(json: string): IdentityRecord {
  return json as IdentityRecord;
}

/** @throws {InternalError} when it is not one of ours */
export function readIdentity(identity: IdentityRecord): StoredGrant {
  const parsed = stored.safeParse(parseJson(identity));
  if (parsed.success) return parsed.data;
  throw new InternalError('a lock identity of another backend was passed to etcd', {
    code: 'foreign-identity',
    cause: parsed.error,
    definite: true,
  });
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // Not JSON at all: the schema refuses it with the proper error.
    return undefined;
  }
}
