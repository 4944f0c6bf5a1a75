/**
 * What makes a grant this grant: the node's czxid (unique in the ensemble, for ever), its session,
 * and the parent's czxid, since a re-created parent restarts sequence numbers. The data version
 * counts only for a persistent node, whose data may be all that changes from grant to grant.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { InternalError } from '../../domain/errors.ts';
import type { IdentityRecord, LockIdentity } from '../../domain/lock.ts';

const decimal = z
  .string()
  .regex(/^-?\d+$/)
  .transform(BigInt);

const shape = z.strictObject({
  convention: z.string(),
  /** Full path below the chroot. */
  path: z.string(),
  czxid: decimal,
  /** 0n: persistent. */
  ephemeralOwner: decimal,
  /** Data version of a persistent node. */
  version: z.number().int().optional(),
  /** Undefined when the node itself is the whole lock. */
  parentCzxid: decimal.optional(),
  /** The name holds a GUID and can never be created again. */
  uniqueName: z.boolean(),
  /** A waiter that has become the holder is another grant. */
  role: z.enum(['holder', 'waiter']),
});

export type NodeIdentity = z.output<typeof shape>;

/** `z1.<czxid>.` with 32 bits over all of it. */
export function createIdentity(node: NodeIdentity): LockIdentity {
  const json = JSON.stringify(node, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
  const hash = createHash('sha256').update(json).digest('hex').slice(0, 8);
  return { expect: `z1.${node.czxid.toString()}.${hash}`, record: json as IdentityRecord };
}

/** @throws {InternalError} when it is not one of ours */
export function readIdentity(identity: LockIdentity): NodeIdentity {
  const parsed = shape.safeParse(parseJson(identity.record));
  if (parsed.success) return parsed.data;
  throw new InternalError('a lock identity of another backend was passed to ZooKeeper', {
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

const guid = /[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}/;

/** Whether a node name holds a GUID, with dashes or without. */
export function holdsGuid(name: string): boolean {
  return guid.test(name);
}
