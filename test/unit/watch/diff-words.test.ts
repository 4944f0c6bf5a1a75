import { expect, test } from 'vitest';
import { compareLooks } from '../../../src/watch/changes.ts';
import { diffSentence, isToldInDiff } from '../../../src/watch/diff-words.ts';
import { nothingSeen } from '../../../src/watch/observation.ts';
import { lockOf, lookAt, type LockFacts } from '../../helpers/looks.ts';

/** What is told of one lock between two looks an hour apart. */
function told(from: LockFacts, to: LockFacts): readonly string[] {
  const { memory } = compareLooks(nothingSeen, lookAt(0, [lockOf(from)]));
  const { changes } = compareLooks(memory, lookAt(3_600_000, [lockOf(to)]));
  return changes.flatMap((one) =>
    one.kind !== 'gap' && isToldInDiff(one) ? [diffSentence(one)] : [],
  );
}

test('a change of hands is told from owner and fence to owner and fence', () => {
  const [from, to] = [
    { owners: ['pod-1'], fence: 12n },
    { owners: ['pod-2'], fence: 13n },
  ];
  expect(told(from, to)).toEqual(['pod-1 fence 12 → pod-2 fence 13']);
  expect(told(from, { owners: ['pod-1'], fence: 13n })).toEqual([
    'pod-1 fence 12 → pod-1 fence 13 (the same owner, another grant)',
  ]);
  expect(told(from, { owners: [] })).toContain('pod-1 fence 12 → nobody');
});

test('a renewal between two captures is no change', () => {
  expect(told({ ttlMs: 5_000 }, { ttlMs: 29_000 })).toEqual([]);
});
