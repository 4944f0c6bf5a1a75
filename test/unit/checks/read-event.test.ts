import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lineSchemas } from '../../../src/checks/history-schema.ts';
import { readEvent } from '../../../src/checks/read-event.ts';

/** Good and bad values of every kind of field, the borders of each among them. */
const values = fc.oneof(
  fc.constantFrom<unknown>('', '0', '-1', '-', '1.5', ' 1', '1\n', '0x1', '99999999999999999999'),
  fc.constantFrom<unknown>('123456789012345', '-12345678901234', '1234567890123456', '-0', '007'),
  fc.constantFrom<unknown>('100000000000000000000', '-99999999999999999999', '9007199254740993'),
  fc.constantFrom<unknown>(
    0,
    -0,
    1,
    -1,
    0.5,
    -0.5,
    2 ** 53,
    2 ** 53 - 1,
    Infinity,
    -(2 ** 53),
    1e300,
  ),
  fc.constantFrom<unknown>(true, false, null, [], {}, ['worker'], 'x'.repeat(100_000)),
  fc.constantFrom<unknown>('x'.repeat(100_001), 'worker', 'ok', 'lock-state', 'acquire', 'Ok'),
  fc.string({ unit: 'binary', maxLength: 5 }),
);

type Fields = Record<string, unknown>;

const required: Readonly<Record<'invoke' | 'complete' | 'observation', Fields>> = {
  invoke: { op: '1', action: 'acquire', worker: 'A', attempt: 1, lock: 'l' },
  complete: { op: '1', outcome: 'ok' },
  observation: { fact: 'grant', lock: 'l', witness: 'w' },
};

/** Well-formed values of the optional fields. */
const optional: Fields = {
  seq: 7,
  clock: 'c',
  source: 'worker',
  owner: '',
  fence: '18446744073709551615',
  resource: 'r',
  business: 'b',
  subject: 's',
  effectId: 'e',
  requestId: 'q',
  queuedMs: 0,
  leaseMs: 0.5,
  code: 'busy',
  accepted: false,
  grantedTtlMs: 1e9,
  validUntilNs: '-1',
  version: 3,
  absent: true,
  ttlMs: 0,
  cause: 'expired',
  order: '123456789012345678',
  epoch: 'e1',
  mode: 'shared',
  limit: 3,
  permits: 1,
  holdCount: 0,
};

const kinds = ['invoke', 'complete', 'observation'] as const;

/** A line as JSON.parse gives it: some of its kind's fields, and up to two changes of any sort. */
const anyLine = fc
  .record({
    kind: fc.constantFrom(...kinds),
    kept: fc.subarray(Object.keys(optional)),
    changes: fc.array(fc.tuple(fc.nat(), values), { maxLength: 2 }),
    /** Mostly past the end: nothing is dropped. */
    dropped: fc.nat({ max: 80 }),
    stranger: fc.oneof(
      { weight: 6, arbitrary: fc.constant(null) },
      fc.constantFrom('wroker', '', '__proto__', 'toString', '0'),
    ),
  })
  .map(({ kind, kept, changes, dropped, stranger }) => {
    const shape = Object.keys(lineSchemas[kind].shape);
    const line: Fields = { kind, atNs: '12', process: 'A', ...required[kind] };
    for (const field of kept) if (shape.includes(field)) line[field] = optional[field];
    for (const [place, value] of changes) line[shape[place % shape.length] ?? ''] = value;
    const entries = Object.entries(line).filter((_, at) => at !== dropped);
    if (stranger !== null) entries.push([stranger, 'x']);
    return `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${json(value)}`).join(',')}}`;
  });

/** A text may say 1e999, which parses as Infinity; and -0. */
function json(value: unknown): string {
  if (value === Infinity) return '1e999';
  return Object.is(value, -0) ? '-0' : JSON.stringify(value);
}

function schemaOf(value: unknown): (typeof lineSchemas)[(typeof kinds)[number]] | undefined {
  const line = Object(value) as { readonly kind?: unknown };
  const kind = kinds.find((one) => one === line.kind);
  return kind === undefined ? undefined : lineSchemas[kind];
}

describe('reading an event without the schema', () => {
  test('accepts exactly what the schema accepts, and makes the same value of it', () => {
    let accepted = 0;
    fc.assert(
      fc.property(anyLine, (text) => {
        const value = JSON.parse(text) as object;
        const bySchema = schemaOf(value)?.safeParse(JSON.parse(text));
        const read = readEvent(value);
        if (read !== undefined) accepted += 1;
        expect(read).toStrictEqual(bySchema?.success === true ? bySchema.data : undefined);
        // What was refused is untouched: the schema still has to find its error.
        if (read === undefined) expect(value).toStrictEqual(JSON.parse(text));
      }),
      { numRuns: 1000 },
    );
    expect(accepted).toBeGreaterThan(50);
  });

  test.each(kinds)('reads %s with every field of its schema', (kind) => {
    const all: Fields = { kind, atNs: '12', process: 'A', ...required[kind], ...optional };
    const shape = Object.keys(lineSchemas[kind].shape);
    const line = Object.fromEntries(shape.map((field) => [field, all[field]]));
    expect(readEvent({ ...line })).toStrictEqual(lineSchemas[kind].parse(line));
  });

  test.each(['fault', 'notice', 'header', 'else'])('leaves %s to the schema', (kind) => {
    expect(readEvent({ kind, atNs: '1', process: 'A' })).toBeUndefined();
  });
});
