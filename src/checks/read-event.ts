/**
 * Reads the events of which a history has millions (invoke, complete, observation) without zod, which
 * takes thirty times as long. Says yes only to what the schema accepts, and makes the same value of
 * it; everything else is left to the schema, which also knows the precise error.
 */
import type { RawEvent } from './history-schema.ts';

/** A parsed line before anything is known of it. */
type Loose = Partial<Record<FieldName, unknown>>;
type FieldName = RawEvent extends infer One ? (One extends unknown ? keyof One : never) : never;

/**
 * The event, converted in place, or undefined (and `value` as it was) where the schema must decide.
 */
export function readEvent(value: object): RawEvent | undefined {
  return isEvent(value) ? value : undefined;
}

/** Checks first and converts only then: what is refused here goes to the schema untouched. */
function isEvent(line: Loose): line is RawEvent {
  if (knownFields(line) !== Object.keys(line).length) return false;
  line.atNs = toBigInt(line.atNs);
  if (line.fence !== undefined) line.fence = toBigInt(line.fence);
  if (line.validUntilNs !== undefined) line.validUntilNs = toBigInt(line.validUntilNs);
  if (line.version !== undefined) line.version = toBigInt(line.version);
  if (line.order !== undefined) line.order = toBigInt(line.order);
  return true;
}

/**
 * How many fields the line has, all known and well-formed; NaN, which equals no count, when one is
 * missing or wrong. A line with more fields than these has one that the schema does not know.
 */
function knownFields(line: Loose): number {
  switch (line.kind) {
    case 'invoke':
      return 1 + baseFields(line) + invokeFields(line);
    case 'complete':
      return 1 + baseFields(line) + completeFields(line);
    case 'observation':
      return 1 + baseFields(line) + observationFields(line);
    default:
      return NaN;
  }
}

const sources: ReadonlySet<unknown> = new Set(['worker', 'proxy', 'service', 'resource', 'driver']);

function baseFields(line: Loose): number {
  return (
    given(line.seq, count) +
    decimal(line.atNs) +
    given(line.clock, name) +
    name(line.process) +
    (line.source === undefined ? 0 : oneOf(sources, line.source))
  );
}

const actions: ReadonlySet<unknown> = new Set([
  'acquire',
  'confirm',
  'renew',
  'release',
  'write',
  'effect',
  'checkpoint',
]);

const modes: ReadonlySet<unknown> = new Set(['exclusive', 'shared']);

function invokeFields(line: Loose): number {
  return (
    name(line.op) +
    oneOf(actions, line.action) +
    name(line.worker) +
    count(line.attempt) +
    name(line.lock) +
    given(line.owner, text) +
    given(line.fence, decimal) +
    given(line.resource, text) +
    given(line.business, text) +
    given(line.subject, text) +
    given(line.effectId, text) +
    given(line.requestId, text) +
    given(line.queuedMs, milliseconds) +
    given(line.leaseMs, milliseconds) +
    (line.mode === undefined ? 0 : oneOf(modes, line.mode)) +
    given(line.limit, positive) +
    given(line.permits, positive)
  );
}

const outcomes: ReadonlySet<unknown> = new Set(['ok', 'fail', 'unknown']);

function completeFields(line: Loose): number {
  return (
    name(line.op) +
    oneOf(outcomes, line.outcome) +
    given(line.code, text) +
    given(line.fence, decimal) +
    given(line.accepted, boolean) +
    given(line.grantedTtlMs, milliseconds) +
    given(line.validUntilNs, decimal) +
    given(line.version, decimal) +
    given(line.holdCount, count)
  );
}

const facts: ReadonlySet<unknown> = new Set([
  'lock-state',
  'grant',
  'expiry',
  'removal',
  'effect-row',
  'read-to-end',
]);

function observationFields(line: Loose): number {
  return (
    oneOf(facts, line.fact) +
    name(line.lock) +
    given(line.owner, text) +
    given(line.fence, decimal) +
    given(line.absent, boolean) +
    given(line.ttlMs, milliseconds) +
    given(line.cause, text) +
    given(line.order, decimal) +
    given(line.epoch, text) +
    given(line.business, text) +
    given(line.subject, text) +
    given(line.effectId, text) +
    given(line.accepted, boolean) +
    given(line.resource, text) +
    text(line.witness)
  );
}

/** Each of these counts 1 for a good value and NaN for a bad one; an absent field counts 0. */
function given(value: unknown, check: (value: unknown) => number): number {
  return value === undefined ? 0 : check(value);
}

function oneOf(known: ReadonlySet<unknown>, value: unknown): number {
  return known.has(value) ? 1 : NaN;
}

function text(value: unknown): number {
  return typeof value === 'string' && value.length <= 100_000 ? 1 : NaN;
}

function name(value: unknown): number {
  return value === '' ? NaN : text(value);
}

function boolean(value: unknown): number {
  return typeof value === 'boolean' ? 1 : NaN;
}

function milliseconds(value: unknown): number {
  return typeof value === 'number' && value >= 0 && value < Infinity ? 1 : NaN;
}

function count(value: unknown): number {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? 1 : NaN;
}

function positive(value: unknown): number {
  return value === 0 ? NaN : count(value);
}

/** A whole number: up to 20 digits in a string, or a JSON number while it is exact. */
function decimal(value: unknown): number {
  if (typeof value !== 'string') return Number.isSafeInteger(value) ? 1 : NaN;
  const from = value.startsWith('-') ? 1 : 0;
  const digits = value.length - from;
  if (digits < 1 || digits > 20) return NaN;
  for (let at = from; at < value.length; at += 1) {
    const digit = value.charCodeAt(at);
    if (digit < 48 || digit > 57) return NaN;
  }
  return 1;
}

/** Of a checked decimal. Short ones go by way of a number, which is several times faster. */
function toBigInt(value: unknown): bigint {
  const short = typeof value === 'number' || String(value).length <= 15;
  return BigInt(short ? Number(value) : String(value));
}
