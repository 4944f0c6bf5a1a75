import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { judge } from '../../../src/checks/judge.ts';
import { parseHistory } from '../../../src/checks/parse-history.ts';
import { defaultInvariants } from '../../../src/checks/registry.ts';

describe('an overrunning job that frees the lock of its successor', () => {
  const file = new URL('../../fixtures/histories/overrunning-job.jsonl', import.meta.url);
  const parsed = parseHistory(readFileSync(file, 'utf8'), 'overrunning-job.jsonl');
  const results = judge(parsed.history, defaultInvariants());
  const of = (name: string) => results.find(({ invariant }) => invariant === name);

  test('the foreign release is shown by Y, X and Z', () => {
    expect(of('no-foreign-release')).toMatchObject({
      verdict: 'violated',
      witness: [3, 5, 7],
      note: "X's release while Y held the lock was accepted, and the lock was granted to Z before Y's ended",
    });
  });

  test('mutual exclusion is violated by Y and Z from the second grant to the end of the lease of Y', () => {
    expect(of('mutual-exclusion:service')).toMatchObject({
      verdict: 'violated',
      witness: [3, 7],
      note: 'Y and Z were granted the lock at once, from 12100.0 ms to 20050.0 ms',
    });
  });

  test('the batch was sent twice', () => {
    expect(of('effect-at-most-once')).toMatchObject({ verdict: 'violated', witness: [9, 11] });
  });

  test('the time X worked without a lease is told, and nothing was begun in it', () => {
    expect(of('no-work-after-known-loss')).toMatchObject({
      verdict: 'not-exercised',
      note: 'no work was begun or committed outside a lease; X outlived its lease by 2000 ms: 50 ms without a lease, then 1950 ms beside Y',
    });
  });

  test('nothing else is violated, and nothing is inconclusive', () => {
    const violated = results.filter(({ verdict }) => verdict === 'violated');
    expect(violated.map(({ invariant }) => invariant).sort()).toEqual([
      'effect-at-most-once',
      'mutual-exclusion:service',
      'no-foreign-release',
    ]);
    expect(results.filter(({ verdict }) => verdict === 'inconclusive')).toEqual([]);
  });

  test('the numbering by time is said', () => {
    expect(parsed.notes).toEqual([
      "events carry no seq: numbered by their time on the header's clock",
    ]);
  });
});
