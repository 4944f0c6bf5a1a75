/**
 * The shape of one lock in a capture, checked when somebody else's file is read. Every word is
 * escaped again: anybody may have written it.
 */
import { z } from 'zod';
import type { Fence } from '../domain/fence.ts';
import type { Holder, OwnerPlace, Waiter, Waiters } from '../domain/holder.ts';
import type { Known } from '../domain/known.ts';
import type { Lease } from '../domain/lease.ts';
import type { IdentityRecord, LockIdentity, LockSnapshot, ServerView } from '../domain/lock.ts';
import { parseText } from '../domain/text.ts';

/** A string of the file, made safe to print. */
export const text = z.string().transform(parseText);
/** 64-bit numbers travel as decimal strings. */
export const decimal = z
  .string()
  .regex(/^-?\d{1,20}$/, 'a decimal number in quotes')
  .transform(BigInt);
const count = z.int().nonnegative();

const reasons = { reason: text, remedy: text.exactOptional() };
const unknownShape = z.object({ kind: z.literal('unknown'), ...reasons });

/** A fact with its holes. */
export function knownShape<T>(value: z.ZodType<T>): z.ZodType<Known<T>> {
  return z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('known'), value }),
    z.object({ kind: z.literal('partial'), value, ...reasons }),
    unknownShape,
  ]);
}

const lease: z.ZodType<Lease> = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('ttl'),
    ttlMs: z.number(),
    grantedMs: knownShape(z.number()),
    id: text.exactOptional(),
    shared: knownShape(z.array(text)).exactOptional(),
  }),
  z.object({
    kind: z.literal('session'),
    sessionId: text,
    timeoutMs: knownShape(z.number()),
    shared: knownShape(z.array(text)).exactOptional(),
  }),
  z.object({ kind: z.literal('never') }),
  unknownShape,
]);

const fence: z.ZodType<Fence> = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('token'),
    token: decimal,
    source: z.enum(['counter', 'create-revision', 'czxid', 'attempt', 'record']),
  }),
  z.object({ kind: z.literal('none') }),
  unknownShape,
]);

const place: z.ZodType<Known<OwnerPlace>> = knownShape(
  z.object({
    host: text.exactOptional(),
    pid: z.number().exactOptional(),
    thread: text.exactOptional(),
    source: text,
  }),
);
const mode = z.enum(['read', 'write']).exactOptional();

const holder: z.ZodType<Holder> = z.object({
  owner: text,
  place,
  holds: z.number(),
  lease: lease.exactOptional(),
  mode,
  record: text.exactOptional(),
});

const waiter: z.ZodType<Waiter> = z
  .object({
    position: count,
    owner: text.optional(),
    record: text.exactOptional(),
    lease: lease.exactOptional(),
    place: place.exactOptional(),
    watches: knownShape(text).exactOptional(),
    mode,
    note: text.exactOptional(),
  })
  // JSON leaves out what is undefined.
  .transform(({ owner, ...rest }) => ({ owner, ...rest }));

const waiters: z.ZodType<Waiters> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('exact'), list: z.array(waiter) }),
  z.object({ kind: z.literal('count'), count, source: text }),
  unknownShape,
]);

const server: z.ZodType<ServerView> = z.object({
  endpoint: text,
  role: knownShape(text),
  via: text.exactOptional(),
  doubts: z.array(text).exactOptional(),
  slot: z.number().exactOptional(),
  replicaOf: z
    .object({
      primary: text,
      link: z.enum(['up', 'down']),
      lastHeardS: knownShape(z.number()),
      lagBytes: knownShape(z.number()),
    })
    .exactOptional(),
});

const ref = z.object({
  name: text,
  convention: text.exactOptional(),
  holder: text.exactOptional(),
});

/** A capture is no ground for a release: what a backend would compare is not in it. */
const captured = JSON.stringify({ captured: true }) as IdentityRecord;

const identity: z.ZodType<LockIdentity> = z
  .object({ expect: text })
  .transform(({ expect }) => ({ expect, record: captured }));

export const lockShape: z.ZodType<LockSnapshot> = z
  .object({
    ref,
    partOf: ref.exactOptional(),
    state: z.enum(['held', 'free', 'no-ttl', 'orphan-waiters', 'partial', 'split', 'unknown']),
    recognition: z.object({
      convention: text,
      title: text,
      confidence: z.enum(['high', 'medium', 'low']),
      candidates: z.array(text),
      forced: z.boolean(),
    }),
    mode: z.enum(['exclusive', 'shared', 'semaphore', 'latch']),
    holders: knownShape(z.array(holder)),
    lease,
    waiters,
    fence,
    heldForMs: knownShape(z.number()),
    helpers: z.array(text),
    notes: z.array(z.object({ code: text, severity: z.enum(['info', 'warn']), text })),
    identity: identity.optional(),
    server,
  })
  .transform(({ identity: grant, ...rest }) => ({ identity: grant, ...rest }));

/** The lock as it stands in a capture: of its identity only what `show` prints. */
export function lockJson(lock: LockSnapshot): object {
  const { identity: grant, ...rest } = lock;
  return grant === undefined ? rest : { ...rest, identity: { expect: grant.expect } };
}
