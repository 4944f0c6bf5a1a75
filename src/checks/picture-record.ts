/** The lock service's lane: whose record observers saw, from when to when, and how it ended. */
import type { ObservationEvent } from '../domain/event.ts';
import type { PictureBar, PictureMark } from '../domain/run-picture.ts';
import type { HistoryIndex, LockHistory } from './history.ts';
import { atText, toMs, type Lanes } from './picture-lanes.ts';

/** One bar for each stretch in which the record showed one owner. */
export function recordBars(
  index: HistoryIndex,
  lock: LockHistory,
  lanes: Lanes,
  endMs: number,
): readonly PictureBar[] {
  const lane = lanes.service(lock.name);
  const bars: PictureBar[] = [];
  let open: { owner: string; fence: bigint | undefined; fromMs: number } | undefined;
  const close = (atMs: number): void => {
    if (open === undefined) return;
    const { owner, fence, fromMs } = open;
    const grant = grantOf(lock, owner, fence);
    const name = fence === undefined ? owner : `${owner} (fence ${fence})`;
    const seen = `seen from ${atText(fromMs)}, gone by ${atText(atMs)}`;
    const text = fence === undefined ? '' : `${fence}`;
    bars.push({
      lane,
      kind: 'record',
      fromMs,
      toMs: atMs,
      grant,
      text,
      about: `record of ${name}: ${seen}`,
    });
    open = undefined;
  };
  for (const fact of lock.observations) {
    const atMs = toMs(index.timeOf(fact));
    const shown = shownOwner(fact);
    if (shown === undefined) continue;
    if (shown.owner === open?.owner) continue;
    close(atMs);
    if (shown.owner !== undefined) open = { owner: shown.owner, fence: fact.fence, fromMs: atMs };
  }
  close(endMs);
  return bars;
}

/** What the fact says of the record from here on; undefined when it says nothing. */
function shownOwner(fact: ObservationEvent): { readonly owner: string | undefined } | undefined {
  switch (fact.fact) {
    case 'lock-state':
      return fact.absent === true ? { owner: undefined } : { owner: fact.owner };
    case 'expiry':
    case 'removal':
      return { owner: undefined };
    // A grant may be read from the service's history long after it was made.
    case 'grant':
    case 'effect-row':
    case 'read-to-end':
      return undefined;
  }
}

function grantOf(lock: LockHistory, owner: string, fence: bigint | undefined): number {
  const found = lock.grants.find(
    (grant) => grant.owner === owner && (fence === undefined || grant.fence === fence),
  );
  return found?.index ?? 0;
}

/** How each record ended, as the service tells it. */
export function recordMarks(
  index: HistoryIndex,
  lock: LockHistory,
  lanes: Lanes,
): readonly PictureMark[] {
  const lane = lanes.service(lock.name);
  return lock.observations.flatMap((fact) => {
    if (fact.fact !== 'expiry' && fact.fact !== 'removal') return [];
    const cause = fact.cause ?? fact.fact;
    const tone = cause === 'unknown' ? 'unknown' : 'gone';
    const about = `${fact.owner ?? 'the record'}: ${cause}; ${fact.witness}`;
    return [{ lane, atMs: toMs(index.timeOf(fact)), tone, text: cause, about }];
  });
}
