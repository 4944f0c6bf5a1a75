/** Past and present grants of a lock as rows. */
import type { FenceRecord } from '../domain/fence.ts';
import { fenceWord, knownWord } from './locks-words.ts';
import type { Column } from './table.ts';

export const historyColumns: readonly Column<FenceRecord>[] = [
  { title: 'FENCE', cell: (record) => fenceWord(record.fence) },
  { title: 'OWNER', cell: fenceRecordOwner, shrinkTo: 12 },
  { title: 'GRANTED', cell: ({ grantedAt }) => knownWord(grantedAt, (at) => at) },
  { title: 'ENDED', cell: ({ ended }) => endedWord(ended) },
  { title: 'RECORD', cell: ({ record }) => record ?? '–', shrinkTo: 12 },
  { title: 'SOURCE', cell: ({ source }) => source },
];

export function fenceRecordOwner({ owner }: FenceRecord): string {
  return knownWord(owner, (token) => (token === '' ? '(empty)' : token));
}

/** How a grant ended: `holding`, `expired at …`, or `?` with the reason. */
export function endedWord(ended: FenceRecord['ended']): string {
  if (ended.how === 'holding' || ended.how === 'waiting') return ended.how;
  if (ended.how === 'unknown') return `? (${ended.reason})`;
  const revision = ended.revision === undefined ? '' : ` at revision ${ended.revision.toString()}`;
  return `${ended.how}${ended.at === undefined ? revision : ` at ${ended.at}`}`;
}
