/** Random histories of one fenced lock, and the judge's word on them beside an exhaustive search's. */
import fc from 'fast-check';
import { judge } from '../../../src/checks/judge.ts';
import { parseInvariant } from '../../../src/checks/registry.ts';
import type { History } from '../../../src/domain/event.ts';
import { HistoryBuilder } from '../../helpers/history-builder.ts';
import { explainable } from './exhaustive.ts';

const lockRules = ['mutual-exclusion:service', 'fence-strictly-grows', 'no-false-busy'].map(
  parseInvariant,
);

/** Three lanes of workers; each step begins or ends the lane's operation at a time of its own. */
export const lockHistory: fc.Arbitrary<History> = fc
  .array(
    fc.record({
      lane: fc.nat({ max: 2 }),
      reply: fc.constantFrom('ok', 'ok', 'ok', 'busy', 'unknown'),
      fenceOff: fc.constantFrom(0n, 0n, 0n, 0n, 1n, -1n),
    }),
    { minLength: 4, maxLength: 17 },
  )
  .map(buildLockHistory);

interface Lane {
  id: string;
  holding: boolean;
  begun: number | undefined;
  generation: number;
}

function buildLockHistory(
  steps: readonly { lane: number; reply: 'ok' | 'busy' | 'unknown'; fenceOff: bigint }[],
): History {
  const builder = new HistoryBuilder();
  const lanes: Lane[] = [0, 1, 2].map((lane) => ({
    id: `w${lane}`,
    holding: false,
    begun: undefined,
    generation: 0,
  }));
  let fence = 1n;
  steps.forEach(({ lane: number, reply, fenceOff }, at) => {
    const lane = lanes[number];
    if (lane === undefined) return;
    if (lane.begun === undefined) {
      lane.begun = at;
      return;
    }
    const times = [lane.begun, at] as const;
    lane.begun = undefined;
    if (lane.holding) {
      builder.release(lane.id, times, reply === 'unknown' ? 'unknown' : 'ok');
      lane.holding = false;
    } else if (reply === 'ok') {
      fence += 1n;
      builder.op('acquire', lane.id, times, 'ok', { complete: { fence: fence + fenceOff } });
      lane.holding = true;
    } else {
      const busy = { complete: { code: 'busy' } };
      builder.op('acquire', lane.id, times, reply === 'busy' ? 'fail' : 'unknown', busy);
    }
    // A new id for each attempt, as owners are: the same one never holds twice.
    if (!lane.holding) {
      lane.generation += 1;
      lane.id = `w${number}.${lane.generation}`;
    }
  });
  for (const { id, begun, holding } of lanes) {
    if (begun !== undefined) builder.op(holding ? 'release' : 'acquire', id, [begun, 0], undefined);
  }
  return builder.build();
}

/**
 * Judges `runs` random histories both ways.
 * @returns how many of each kind there were
 * @throws with the smallest history found on which the two disagree
 */
export function compareWithSearch(runs: number): { explainable: number; not: number } {
  const seen = { explainable: 0, not: 0 };
  const compare = (history: History): boolean => {
    const sound = explainable(history);
    seen[sound ? 'explainable' : 'not'] += 1;
    return violates(history) !== sound;
  };
  fc.assert(fc.property(lockHistory, compare), { numRuns: runs });
  return seen;
}

function violates(history: History): boolean {
  return judge(history, lockRules).some(({ verdict }) => verdict === 'violated');
}
