import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { placeLabels } from '../../../src/reports/place-labels.ts';

const mark = (x: number, rank = 2) => ({ lane: 0, x, width: 50, rank });
const spot = (anchor: 'start' | 'end', row: 0 | 1) => ({ anchor, row });

describe('room for the labels of marks', () => {
  test('a label stands right of its mark, or left of it at the edge', () => {
    expect(placeLabels([mark(100), mark(580)], 0, 600)).toEqual([spot('start', 0), spot('end', 0)]);
  });

  test('what was refused has its label before what went well', () => {
    const spots = placeLabels([mark(100), mark(104), mark(108), mark(112), mark(116, 0)], 60, 180);
    expect(spots[4]).toEqual(spot('start', 0));
    expect(spots).toContain(undefined);
  });

  test('another lane is no obstacle', () => {
    const spots = placeLabels([mark(100), { ...mark(101), lane: 1 }], 0, 600);
    expect(spots).toEqual([spot('start', 0), spot('start', 0)]);
  });

  test('no label lies over another, or beyond the plot', () => {
    const marks = fc.array(
      fc.record({
        lane: fc.integer({ min: 0, max: 2 }),
        x: fc.integer({ min: -20, max: 620 }),
        width: fc.integer({ min: 5, max: 90 }),
        rank: fc.integer({ min: 0, max: 2 }),
      }),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(marks, (all) => {
        const boxes = placeLabels(all, 0, 600).flatMap((found, at) => {
          const { x = 0, width = 0, lane = 0 } = all[at] ?? {};
          if (found === undefined) return [];
          const from = found.anchor === 'start' ? x + 7 : x - 7 - width;
          return [{ key: `${lane} ${found.row}`, from, to: from + width }];
        });
        for (const [at, one] of boxes.entries()) {
          expect(one.from).toBeGreaterThanOrEqual(0);
          expect(one.to).toBeLessThanOrEqual(600);
          for (const other of boxes.slice(at + 1)) {
            const apart = one.key !== other.key || one.to < other.from || other.to < one.from;
            expect(apart).toBe(true);
          }
        }
      }),
    );
  });
});
