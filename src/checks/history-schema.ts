/**
 * History format v1 as zod sees a line: the header first, then one event a line. 64-bit numbers are
 * decimal strings (safe integers are accepted from other programs). `fencepost check --schema`
 * prints the JSON Schema that follows from this.
 */
import { z } from 'zod';

/** Within 64 bits, signed or not: revisions, zxids, tokens, nanoseconds. */
const bigDecimal = z
  .union([z.string().regex(/^-?\d{1,20}$/, 'must be a whole number as a decimal string'), z.int()])
  .transform((value) => BigInt(value));
const text = z.string().max(100_000);
const name = text.min(1);
const milliseconds = z.number().nonnegative();
const count = z.int().positive();

/** `leaseFactor` times the granted lease plus `addMs`. */
const span = z.strictObject({ leaseFactor: milliseconds, addMs: z.number() });
const invariant = z.strictObject({
  name,
  level: text.exactOptional(),
  within: span.exactOptional(),
  options: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
});

const header = z.strictObject({
  schemaVersion: z.literal(1),
  kind: z.literal('header'),
  runId: text.exactOptional(),
  scenario: text.exactOptional(),
  scenarioHash: text.exactOptional(),
  tool: text.exactOptional(),
  seed: text.exactOptional(),
  clock: name,
  accept: z.enum(['greater', 'greater-or-equal', 'any']).exactOptional(),
  invariants: z.array(invariant).max(100).exactOptional(),
});

const source = z.enum(['worker', 'proxy', 'service', 'resource', 'driver']);

/** Fields of every event. Programs other than fencepost may leave out `seq` and `source`. */
const base = {
  seq: z.int().nonnegative().exactOptional(),
  atNs: bigDecimal,
  clock: name.exactOptional(),
  process: name,
  source: source.exactOptional(),
};

const invoke = z.strictObject({
  ...base,
  kind: z.literal('invoke'),
  op: name,
  action: z.enum(['acquire', 'confirm', 'renew', 'release', 'write', 'effect', 'checkpoint']),
  worker: name,
  attempt: z.int().nonnegative(),
  lock: name,
  owner: text.exactOptional(),
  fence: bigDecimal.exactOptional(),
  resource: text.exactOptional(),
  business: text.exactOptional(),
  subject: text.exactOptional(),
  effectId: text.exactOptional(),
  requestId: text.exactOptional(),
  queuedMs: milliseconds.exactOptional(),
  leaseMs: milliseconds.exactOptional(),
  mode: z.enum(['exclusive', 'shared']).exactOptional(),
  limit: count.exactOptional(),
  permits: count.exactOptional(),
});

const complete = z.strictObject({
  ...base,
  kind: z.literal('complete'),
  op: name,
  outcome: z.enum(['ok', 'fail', 'unknown']),
  code: text.exactOptional(),
  fence: bigDecimal.exactOptional(),
  accepted: z.boolean().exactOptional(),
  grantedTtlMs: milliseconds.exactOptional(),
  validUntilNs: bigDecimal.exactOptional(),
  version: bigDecimal.exactOptional(),
  holdCount: z.int().nonnegative().exactOptional(),
});

const notice = z.strictObject({
  ...base,
  kind: z.literal('notice'),
  notice: z.literal('lost'),
  worker: name,
  lock: name,
  owner: text.exactOptional(),
  fence: bigDecimal.exactOptional(),
  reason: text.exactOptional(),
});

const evidence = z.strictObject({
  source: text,
  atNs: bigDecimal.exactOptional(),
  fact: text,
  proves: text,
  holds: z.boolean(),
});

const fault = z.strictObject({
  ...base,
  kind: z.literal('fault'),
  phase: z.enum(['begin', 'end']),
  fault: name,
  faultId: name,
  target: text.exactOptional(),
  evidence: z.array(evidence),
});

const observation = z.strictObject({
  ...base,
  kind: z.literal('observation'),
  fact: z.enum(['lock-state', 'grant', 'expiry', 'removal', 'effect-row', 'read-to-end']),
  lock: name,
  owner: text.exactOptional(),
  fence: bigDecimal.exactOptional(),
  absent: z.boolean().exactOptional(),
  ttlMs: milliseconds.exactOptional(),
  cause: text.exactOptional(),
  order: bigDecimal.exactOptional(),
  epoch: text.exactOptional(),
  business: text.exactOptional(),
  subject: text.exactOptional(),
  effectId: text.exactOptional(),
  accepted: z.boolean().exactOptional(),
  resource: text.exactOptional(),
  witness: text,
});

/** One schema for each `kind`, so that an error names a field and not a union. */
export const lineSchemas = { header, invoke, complete, notice, fault, observation } as const;

export type LineKind = keyof typeof lineSchemas;
export type EventKind = Exclude<LineKind, 'header'>;

/** An event as parsed, before it has its `seq` and `source`. */
export type RawEvent = z.output<(typeof lineSchemas)[EventKind]>;

/** JSON Schema (2020-12) of one line, for programs that write histories. */
export function historyJsonSchema(): Record<string, unknown> {
  const line = z.union([header, invoke, complete, notice, fault, observation]);
  return {
    title: 'fencepost history v1: one line',
    description:
      'JSON Lines: a header line, then one event a line. An operation without completion is ' +
      'unknown. seq and source may be left out of every event; seq only from all or none.',
    ...z.toJSONSchema(line, { io: 'input' }),
  };
}
