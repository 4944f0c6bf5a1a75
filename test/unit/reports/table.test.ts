import { describe, expect, test } from 'vitest';
import { ColumnLayout, renderTable, type Column } from '../../../src/reports/table.ts';
import { displayWidth, fitCells } from '../../../src/reports/width.ts';

interface Row {
  readonly name: string;
  readonly note: string;
}

const columns: readonly Column<Row>[] = [
  { title: 'NAME', cell: (row) => row.name, shrinkTo: 6 },
  { title: 'NOTE', cell: (row) => row.note },
];

describe('widths', () => {
  test('wide characters take two cells, combining marks none', () => {
    expect(displayWidth('锁:42')).toBe(5);
    expect(displayWidth('e\u0301')).toBe(1);
    expect(displayWidth('9f31c0… – ×2 ≥')).toBe(14);
  });

  test('what is cut ends with an ellipsis and fits', () => {
    expect(fitCells('orders:42', 6)).toBe('order…');
    expect(displayWidth(fitCells('锁锁锁锁', 5))).toBeLessThanOrEqual(5);
    expect(fitCells('short', 6)).toBe('short');
  });
});

describe('endless tables', () => {
  test('columns keep the widths of the first page, and a longer cell pushes only its own line', () => {
    const layout = new ColumnLayout(columns, [{ name: 'orders:42', note: 'x' }]);
    expect(layout.heading()).toBe('NAME       NOTE');
    expect(layout.line({ name: 'a', note: 'b' })).toBe('a          b');
    expect(layout.line({ name: 'a-much-longer-name', note: 'b' })).toBe('a-much-longer-name  b');
  });

  test('on a terminal the cells that may be cut are cut until the line fits', () => {
    const row = { name: 'a-much-longer-name', note: 'renewed' };
    const layout = new ColumnLayout(columns, [row], 20);
    expect(layout.line(row)).toBe('a-much-lon…  renewed');
  });

  test('a later page makes its columns wider, never narrower', () => {
    const layout = new ColumnLayout(columns, [{ name: 'orders:42', note: 'x' }]);
    layout.widenFor([{ name: 'a-much-longer-name', note: 'x' }]);
    expect(layout.line({ name: 'a', note: 'b' })).toBe('a                   b');
    layout.widenFor([{ name: 'a', note: 'x' }]);
    expect(layout.line({ name: 'a', note: 'b' })).toBe('a                   b');
  });

  test('no cell is cut below its least width, even when the line does not fit', () => {
    const row = { name: 'a-much-longer-name', note: 'renewed' };
    expect(new ColumnLayout(columns, [row], 5).line(row)).toBe('a-muc…  renewed');
  });
});

test('a whole table has no borders and no trailing spaces', async () => {
  expect(
    await renderTable([
      ['#', 'NODE'],
      ['1', 'a'],
      ['10', 'longer'],
    ]),
  ).toEqual(['#   NODE', '1   a', '10  longer']);
});
