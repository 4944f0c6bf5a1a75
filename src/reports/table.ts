/**
 * Tables: whole ones by cli-table3, and endless ones row by row. The second kind exists because
 * cli-table3 needs all rows first, and about 250 µs for each.
 */
import { displayWidth, fitCells, padCells } from './width.ts';

export interface Column<Row> {
  readonly title: string;
  cell(row: Row): string;
  /** Colours a cell after it has been padded. */
  paint?(padded: string, row: Row): string;
  /** May be cut to fit a narrow terminal, down to this many cells. */
  readonly shrinkTo?: number;
}

const gap = '  ';

/** Widths are those of the pages seen; a longer cell further down pushes its own line only. */
export class ColumnLayout<Row> {
  readonly #columns: readonly Column<Row>[];
  readonly #fitTo: number | undefined;
  #widths: number[];

  /** `fitTo` is the terminal's width; undefined never cuts anything. */
  constructor(columns: readonly Column<Row>[], firstPage: readonly Row[], fitTo?: number) {
    this.#columns = columns;
    this.#fitTo = fitTo;
    this.#widths = columns.map(({ title }) => displayWidth(title));
    this.widenFor(firstPage);
  }

  /** Makes room for another page. No column gets narrower, unless the line would no longer fit. */
  widenFor(page: readonly Row[]): void {
    this.#widths = this.#columns.map((column, at) =>
      page.reduce((width, row) => Math.max(width, displayWidth(column.cell(row))), this.#width(at)),
    );
    if (this.#fitTo !== undefined) this.#shrink(this.#fitTo);
  }

  heading(): string {
    return this.#join(this.#columns.map((column, at) => padCells(column.title, this.#width(at))));
  }

  line(row: Row): string {
    return this.#join(
      this.#columns.map((column, at) => {
        const width = this.#width(at);
        const text = column.cell(row);
        const cell = padCells(this.#mayCut(at) ? fitCells(text, width) : text, width);
        return column.paint === undefined ? cell : column.paint(cell, row);
      }),
    );
  }

  #mayCut(at: number): boolean {
    return this.#fitTo !== undefined && this.#columns[at]?.shrinkTo !== undefined;
  }

  #width(at: number): number {
    return this.#widths[at] ?? 0;
  }

  #join(cells: readonly string[]): string {
    return cells.join(gap).trimEnd();
  }

  /** Takes cells from the widest column that may give some, one at a time, until the line fits. */
  #shrink(fitTo: number): void {
    const gaps = gap.length * (this.#columns.length - 1);
    let excess = this.#widths.reduce((sum, width) => sum + width, gaps) - fitTo;
    while (excess > 0) {
      const widest = this.#widestShrinkable();
      if (widest === undefined) return;
      this.#widths[widest] = this.#width(widest) - 1;
      excess -= 1;
    }
  }

  #widestShrinkable(): number | undefined {
    let widest: number | undefined;
    for (const [at, column] of this.#columns.entries()) {
      if (column.shrinkTo === undefined || this.#width(at) <= column.shrinkTo) continue;
      if (widest === undefined || this.#width(at) > this.#width(widest)) widest = at;
    }
    return widest;
  }
}

const border = [
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left'],
  ['bottom-right', 'left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'],
].flat();

/** A whole table without borders, its rows given at once. Loads cli-table3. */
export async function renderTable(
  rows: readonly (readonly string[])[],
): Promise<readonly string[]> {
  if (rows.length === 0) return [];
  const { default: Table } = await import('cli-table3');
  const table = new Table({
    chars: { ...Object.fromEntries(border.map((place) => [place, ''])), middle: gap },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  table.push(...rows.map((row) => [...row]));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
}
