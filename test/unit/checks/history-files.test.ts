import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { historyJsonSchema } from '../../../src/checks/history-schema.ts';
import { judge } from '../../../src/checks/judge.ts';
import { HistoryParser, parseHistory } from '../../../src/checks/parse-history.ts';
import { defaultInvariants } from '../../../src/checks/registry.ts';
import { writeHistory } from '../../../src/checks/write-history.ts';
import { InputFileError } from '../../../src/domain/errors.ts';
import type { History } from '../../../src/domain/event.ts';
import { HistoryBuilder } from '../../helpers/history-builder.ts';

const header = '{"schemaVersion":1,"kind":"header","clock":"c"}';
const invoke =
  '{"kind":"invoke","atNs":"1","process":"A","op":"1","action":"acquire","worker":"A","attempt":1,"lock":"l"}';

function errorOf(content: string): InputFileError {
  try {
    parseHistory(content, 'h.jsonl');
  } catch (error) {
    if (error instanceof InputFileError) return error;
    throw error;
  }
  throw new Error('parsed');
}

/** Any text, 64-bit numbers at their limits, and optional fields there or not. */
const anyHistory: fc.Arbitrary<History> = fc
  .array(
    fc.record(
      {
        atNs: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
        process: fc.string({ minLength: 1, unit: 'binary' }),
        owner: fc.string({ unit: 'binary' }),
        fence: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
        order: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
        ttlMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
        absent: fc.boolean(),
        clock: fc.constantFrom('c', 'd'),
        holds: fc.boolean(),
      },
      { requiredKeys: ['atNs', 'process', 'holds'] },
    ),
  )
  .map((rows) => ({
    header: { schemaVersion: 1, kind: 'header', clock: 'c' },
    events: rows.map(({ holds, ...row }, seq) =>
      holds
        ? {
            ...row,
            seq,
            kind: 'observation',
            source: 'service',
            fact: 'lock-state',
            lock: 'l',
            witness: 'w',
          }
        : {
            seq,
            kind: 'fault',
            atNs: row.atNs,
            process: row.process,
            source: 'driver',
            phase: 'begin',
            fault: 'pause',
            faultId: 'p1',
            evidence: [{ holds, proves: 'x', fact: row.owner ?? '', source: 's', atNs: row.atNs }],
          },
    ),
  }));

describe('history files', () => {
  test('every history comes back from its text, and its text from it', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const written = writeHistory(history);
        const { history: parsed, notes } = parseHistory(written, 'h.jsonl');
        expect(parsed).toEqual(history);
        expect(writeHistory(parsed)).toBe(written);
        expect(notes).toEqual([]);
      }),
    );
  });

  test('a history in pieces, cut anywhere, is the history as a whole', () => {
    fc.assert(
      fc.property(anyHistory, fc.array(fc.nat({ max: 400 })), (history, lengths) => {
        const written = writeHistory(history).replaceAll('\n', '\r\n');
        const parser = new HistoryParser('h.jsonl');
        let from = 0;
        for (const length of lengths) {
          parser.add(written.slice(from, from + length));
          from += length;
        }
        parser.add(written.slice(from));
        expect(parser.finish().history).toEqual(history);
      }),
    );
  });

  test('a stored history is judged as the one in memory', () => {
    const history = new HistoryBuilder({ accept: 'greater-or-equal' })
      .granted('A', [0, 5], 1n)
      .fault('pause', 'A', 10, 2000)
      .granted('B', [1100, 1105], 2n)
      .write('B', [1110, 1120], 2n, 'accepted', { complete: { version: 1n } })
      .write('A', [2100, 2110], 1n, 'refused')
      .lost('A', 2120)
      .row(2200, 1n)
      .ledgerRead(2201)
      .build();
    const { history: parsed } = parseHistory(writeHistory(history), 'h.jsonl');
    expect(judge(parsed, defaultInvariants())).toEqual(judge(history, defaultInvariants()));
  });

  test('without seq, events are numbered by time and in file order where equal', () => {
    const at = (ns: number, op: string) =>
      invoke.replace('"1"', `"${ns}"`).replace('"op":"1"', `"op":"${op}"`);
    const { history } = parseHistory([header, at(5, 'c'), at(1, 'a'), at(1, 'b')].join('\n'), 'h');
    expect(history.events.map((event) => ('op' in event ? event.op : ''))).toEqual(['a', 'b', 'c']);
    expect(history.events.map(({ seq, source }) => [seq, source])).toEqual([
      [0, 'worker'],
      [1, 'worker'],
      [2, 'worker'],
    ]);
  });

  test('numbers may be JSON numbers while they are exact', () => {
    const { history } = parseHistory(`${header}\n${invoke.replace('"1"', '1')}`, 'h');
    expect(history.events[0]?.atNs).toBe(1n);
    expect(errorOf(`${header}\n${invoke.replace('"1"', '9007199254740993')}`).code).toBe(
      'bad-history-line',
    );
  });

  test.each([
    ['', 'empty-history', 1, 1],
    ['\n\n', 'empty-history', 1, 1],
    [invoke, 'no-header', 1, 2],
    [`${header}\n${invoke}\n{"kind":"invo`, 'history-cut-off', 3, 14],
    [`${header}\n{"kind":"invoke",,}\n${invoke}\n`, 'bad-history-line', 2, 18],
    [`${header}\n${header}\n`, 'unknown-kind', 2, 20],
    [`${header}\n{"kind":"invok","atNs":"1"}\n`, 'unknown-kind', 2, 2],
    [`${header}\n[1]\n`, 'unknown-kind', 2, 1],
    [`${header}\n${invoke.replace('"worker"', '"wroker"')}\n`, 'unknown-field', 2, 71],
    [`${header}\n${invoke.replace('"atNs":"1"', '"atNs":"1.5"')}\n`, 'bad-history-line', 2, 18],
    [`${header}\n${invoke}\n${invoke.replace('{', '{"seq":0,')}\n`, 'bad-history-line', 2, 1],
  ])('%j is refused at its place', (content, code, line, column) => {
    const error = errorOf(content);
    expect(error).toMatchObject({ code, position: { line, column } });
    expect(error.message).toContain(`h.jsonl:${line}:${column}: `);
  });

  test.each([
    [invoke.replace('"worker"', '"wroker"'), 'did you mean "worker"?'],
    ['{"kind":"observaton","atNs":"1"}', 'did you mean "observation"?'],
  ])('%j gets the nearest known name', (line, hint) => {
    expect(errorOf(`${header}\n${line}\n`).hint).toBe(hint);
  });

  test('the schema names every kind of line', () => {
    const text = JSON.stringify(historyJsonSchema());
    for (const kind of ['header', 'invoke', 'complete', 'notice', 'fault', 'observation']) {
      expect(text).toContain(`"const":"${kind}"`);
    }
  });
});
