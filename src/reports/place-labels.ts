/**
 * Finds room for the labels of marks. The page's script uses the same code when somebody zooms, so
 * the function stands alone: it may refer to nothing outside itself.
 */

/** A mark of a lane, with the width of its label in pixels. */
export interface LabelledMark {
  readonly lane: number;
  readonly x: number;
  readonly width: number;
  /** Labels of a lower rank are placed first. */
  readonly rank: number;
}

/** Beside its mark, on the mark's line or (`row` 1) the one below; undefined: no room. */
export interface LabelSpot {
  readonly anchor: 'start' | 'end';
  readonly row: 0 | 1;
}

/** One spot for each mark, none over another label or mark, none beyond `left` or `right`. */
export function placeLabels(
  marks: readonly LabelledMark[],
  left: number,
  right: number,
): readonly (LabelSpot | undefined)[] {
  const [half, reach, gap] = [2, 7, 4];
  const taken = new Map<string, [number, number][]>();
  const at = (lane: number, row: number): [number, number][] => {
    const key = `${lane} ${row}`;
    const known = taken.get(key) ?? [];
    taken.set(key, known);
    return known;
  };
  for (const { lane, x } of marks) at(lane, 0).push([x - half, x + half]);
  const spots: (LabelSpot | undefined)[] = marks.map(() => undefined);
  const order = marks
    .map((mark, index) => ({ mark, index }))
    .sort((a, b) => a.mark.rank - b.mark.rank || a.mark.x - b.mark.x);
  for (const { mark, index } of order) {
    const { lane, x, width } = mark;
    if (x < left || x > right) continue;
    for (const row of [0, 1] as const) {
      for (const anchor of ['start', 'end'] as const) {
        const from = anchor === 'start' ? x + reach : x - reach - width;
        const to = from + width;
        const free = at(lane, row).every(([a, b]) => to + gap < a || from - gap > b);
        if (spots[index] !== undefined || !free || from < left || to > right) continue;
        spots[index] = { anchor, row };
        at(lane, row).push([from, to]);
      }
    }
  }
  return spots;
}
