import { describe, expect, test } from 'vitest';
import { readChain } from '../../../src/release/audit-log.ts';
import { auditRecords } from '../../../src/release/audit-records.ts';

/** A log's text; its chain does not matter here. */
function logOf(...lines: readonly object[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

function records(...lines: readonly object[]) {
  return auditRecords(readChain(logOf(...lines)).lines);
}

const day = '2026-12-02';
const intent = {
  at: `${day}T02:54:10.000Z`,
  kind: 'intent',
  lock: 'report:eod',
  clusterId: 'c1',
  user: 'ann',
  host: 'desk',
  target: 'redis://10.0.0.4:6379',
  expect: 'r1.5be2c07d',
  reason: 'INC-4711',
  holders: { kind: 'known', value: [{ owner: '7a02be' }] },
  overrides: { 'owner-connection': 'batch-7 is gone' },
  previous: '',
};
const outcome = { ...intent, kind: 'outcome', outcome: 'released', intent: `${day}#1` };

describe('recorded releases', () => {
  test('are an intent with its outcome: whose grant, by whom, why', () => {
    expect(records(intent, outcome)).toEqual([
      {
        place: `${day}#1`,
        at: intent.at,
        lock: 'report:eod',
        outcome: 'released',
        owners: ['7a02be'],
        user: 'ann',
        host: 'desk',
        target: 'redis://10.0.0.4:6379',
        expect: 'r1.5be2c07d',
        reason: 'INC-4711',
        overrides: { 'owner-connection': 'batch-7 is gone' },
      },
    ]);
  });

  test('whose program was killed have no outcome, and a later one does not lend them its own', () => {
    const second = { ...outcome, intent: `${day}#2` };
    expect(records(intent, intent, second).map((one) => one.outcome)).toEqual([
      undefined,
      'released',
    ]);
  });

  test('of an older version are answered by the next outcome of the same lock', () => {
    const older = { ...outcome, intent: undefined };
    const other = { ...intent, lock: 'other' };
    expect(records(intent, other, older).map((one) => one.outcome)).toEqual([
      'released',
      undefined,
    ]);
  });

  test('are numbered by the line of their day, lines that are no records included', () => {
    const next = { ...intent, at: '2026-12-03T00:00:00.000Z' };
    const text = `${logOf(intent)}{"at":"${day}", cut off\n${logOf(intent, next)}`;
    expect(auditRecords(readChain(text).lines).map((one) => one.place)).toEqual([
      `${day}#1`,
      `${day}#3`,
      '2026-12-03#1',
    ]);
  });

  test('whoever wrote them, print on one line without control characters', () => {
    const [record] = records({
      ...intent,
      at: '\u001B[2J',
      lock: 'a\nb',
      reason: '\u001B]0;x\u0007',
      user: 5,
      holders: [{ owner: 'x' }],
      overrides: { 'a\n': '\r' },
    });
    expect(record).toMatchObject({
      at: '\\x1b[2J',
      lock: 'a\\nb',
      reason: '\\x1b]0;x\\x07',
      user: undefined,
      owners: [],
      overrides: { 'a\\n': '\\r' },
    });
  });
});
