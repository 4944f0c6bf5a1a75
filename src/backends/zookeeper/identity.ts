/**
 * What makes a grant this grant: the node's czxid (unique in the ensemble, for ever), its data
 * version, and the parent's czxid, since a re-created parent restarts sequence numbers.
 */
import { z } from 'zod';
import type { IdentityRecord, LockIdentity } from '../../domain/lock.ts';

const decimal = z
  .string()
  .regex(/^-?\d+$/)
  .transform(BigInt);

const shape = z.strictObject({
  /** Full path below the chroot. */
  path: z.string(),
  czxid: decimal,
  version: z.number().int(),
  /** Undefined when the node itself is the whole lock. */
  parentCzxid: decimal.optional(),
  /** The name holds a GUID and can never be created again. */
  uniqueName: z.boolean(),
  parentCversion: z.number().int(),
});

export type NodeIdentity = z.output<typeof shape>;

/** `z1.<czxid>.<version>`: readable, and enough to bind a release to one grant. */
export function createIdentity(node: NodeIdentity): LockIdentity {
  const json = JSON.stringify(node, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
  return {
    expect: `z1.${node.czxid.toString()}.${node.version}`,
    record: json as IdentityRecord,
  };
}

/** @throws {Error} when the record was not made by `createIdentity`: a bug of the caller */
export function readIdentity(identity: LockIdentity): NodeIdentity {
  return shape.parse(JSON.parse(identity.record));
}
