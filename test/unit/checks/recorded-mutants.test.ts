/** Histories that broken adapters and resources leave behind, as files: each is caught by name. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { judge } from '../../../src/checks/judge.ts';
import { parseHistory } from '../../../src/checks/parse-history.ts';
import { defaultInvariants } from '../../../src/checks/registry.ts';

const folder = new URL('../../fixtures/histories/', import.meta.url);

function judged(name: string) {
  const file = `${name}.jsonl`;
  const { history } = parseHistory(readFileSync(new URL(file, folder), 'utf8'), file);
  return judge(history, defaultInvariants());
}

describe('a broken adapter or resource', () => {
  test.each([
    [
      'release-without-owner-check',
      { 'mutual-exclusion:service': [3, 7], 'no-foreign-release': [3, 5, 7] },
    ],
    ['check-then-delete', { 'mutual-exclusion:service': [4, 7], 'no-foreign-release': [4, 5, 7] }],
    ['fence-repeats', { 'fence-strictly-grows': [1, 5] }],
    ['fence-goes-back', { 'fence-strictly-grows': [1, 5] }],
    ['fence-beyond-2-53', { 'fence-strictly-grows': [1, 5] }],
    [
      'stale-write-accepted',
      {
        'mutual-exclusion:effect': [5, 7],
        'no-stale-write-accepted': [5, 7],
        'order-closed-once': [5, 7],
        'no-work-after-known-loss': [1, 6],
      },
    ],
    [
      'renewal-takes-the-next-owners-lock',
      { 'mutual-exclusion:service': [1, 3, 5], 'no-foreign-renewal': [3, 4, 5] },
    ],
  ])('%s violates these invariants and no other, each with its witness', (name, expected) => {
    const violated = judged(name).filter(({ verdict }) => verdict === 'violated');
    const witnesses = violated.map(({ invariant, witness }) => [invariant, witness]);
    expect(Object.fromEntries(witnesses)).toEqual(expected);
  });
});

describe('what is no violation', () => {
  test('a resource that refuses the same token again costs availability: a remark', () => {
    const results = judged('same-token-refused');
    expect(results.filter(({ verdict }) => verdict === 'violated')).toEqual([]);
    const write = results.find(({ invariant }) => invariant === 'no-stale-write-accepted');
    expect(write?.verdict).toBe('not-exercised');
    expect(write?.note).toContain('1 refusal as stale that no newer write explains');
  });

  test('a lost reply to a release that may have hit the next owner is inconclusive', () => {
    const results = judged('lost-release-reply');
    expect(results.filter(({ verdict }) => verdict === 'violated')).toEqual([]);
    expect(results.find(({ invariant }) => invariant === 'no-foreign-release')).toMatchObject({
      verdict: 'inconclusive',
      note: "nobody looked at the record after A's release while B (fence 2) held the lock",
    });
  });
});
