/** The judge against an exhaustive search at length. */
import { expect, test } from 'vitest';
import { compareWithSearch } from '../unit/checks/lock-histories.ts';
import { compareShared } from '../unit/checks/shared-search.ts';

test('the judge and an exhaustive search agree on 20,000 random histories', () => {
  const seen = compareWithSearch(20_000);
  process.stdout.write(
    `${seen.explainable} histories explainable, ${seen.not} not; no disagreement\n`,
  );
  expect(Math.min(seen.explainable, seen.not)).toBeGreaterThan(2000);
});

test.each([undefined, 1, 2])('the same of read/write locks and semaphores (limit %s)', (limit) => {
  const seen = compareShared(limit, 20_000);
  process.stdout.write(`${seen.sound} histories explainable, ${seen.not} not; no disagreement\n`);
  expect(Math.min(seen.sound, seen.not)).toBeGreaterThan(500);
});
