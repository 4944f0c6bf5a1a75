/** The table of known conventions. */
import type { Column } from './table.ts';

/** One convention as it is listed, and as JSON has it. */
export interface ListedConvention {
  readonly convention: string;
  readonly system: string;
  readonly title: string;
  /** From the team's own file. */
  readonly own: boolean;
  readonly recognises: string;
  /** What a forced release tells its waiters; absent: nothing, they poll or watch. */
  readonly wakes?: string;
  /** Why it is never released by force; absent: it may be. */
  readonly neverRelease?: string;
}

export const conventionColumns: readonly Column<ListedConvention>[] = [
  { title: 'CONVENTION', cell: ({ convention, own }) => convention + (own ? ' (own)' : '') },
  { title: 'SYSTEM', cell: ({ system }) => system },
  { title: 'RECOGNISES', cell: ({ recognises }) => recognises, shrinkTo: 24 },
  {
    title: 'WAKES',
    cell: ({ wakes, neverRelease }) =>
      neverRelease === undefined ? (wakes ?? 'none') : 'never released',
    shrinkTo: 12,
  },
];
