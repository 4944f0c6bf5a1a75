import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { judge } from '../../../src/checks/judge.ts';
import { defaultInvariants, parseInvariant } from '../../../src/checks/registry.ts';
import type { History } from '../../../src/domain/event.ts';
import { HistoryBuilder } from '../../helpers/history-builder.ts';
import { explainable } from './exhaustive.ts';
import { simulate } from './simulated-runs.ts';

const lockRules = ['mutual-exclusion:service', 'fence-strictly-grows', 'no-false-busy'].map(
  parseInvariant,
);
/** The simulated workers ignore their deadlines on purpose: that rule is about workers. */
const serviceRules = ({ name }: { readonly name: string }): boolean =>
  name !== 'no-work-after-known-loss';
const everything = [...defaultInvariants(), parseInvariant('no-false-busy')];

/** Three lanes of workers; each step begins or ends the lane's operation at a time of its own. */
const lockHistory: fc.Arbitrary<History> = fc
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

function violates(history: History): boolean {
  return judge(history, lockRules).some(({ verdict }) => verdict === 'violated');
}

describe('the judge against an exhaustive search', () => {
  test('both find the same histories explainable, lost replies and busy replies included', () => {
    const seen = { explainable: 0, not: 0 };
    fc.assert(
      fc.property(lockHistory, (history) => {
        const sound = explainable(history);
        seen[sound ? 'explainable' : 'not'] += 1;
        expect(violates(history)).toBe(!sound);
      }),
      { numRuns: 4000 },
    );
    expect(Math.min(seen.explainable, seen.not)).toBeGreaterThan(400);
  });
});

describe('runs of a correct service and resource', () => {
  const seed = fc.integer();

  test('are never violated, whichever lost replies took effect and whether they are told', () => {
    fc.assert(
      fc.property(seed, (draw) => {
        const { told, lost } = simulate(draw);
        for (const history of [told, lost]) {
          const red = judge(history, everything.filter(serviceRules)).filter(
            ({ verdict }) => verdict === 'violated',
          );
          expect(red).toEqual([]);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test('assumptions hold for them', () => {
    fc.assert(
      fc.property(seed, (draw) => {
        expect(judge(simulate(draw).lost, [])[0]).toMatchObject({ verdict: 'held' });
      }),
      { numRuns: 200 },
    );
  });
});

describe('a verdict does not change', () => {
  const anyRun = fc.oneof(
    lockHistory,
    fc.integer().map((draw) => simulate(draw).lost),
  );
  const verdicts = (history: History): unknown =>
    judge(history, everything)
      .filter(({ lock }) => lock === undefined || lock === 'lock:o')
      .map(({ invariant, verdict, witness }) => [invariant, verdict, witness.length]);

  test('when workers are renamed', () => {
    fc.assert(
      fc.property(anyRun, (history) => {
        const renamed = JSON.stringify(history, bigintAsText).replaceAll(/"w(\d)/g, '"worker-$1');
        const parsed = JSON.parse(renamed, textAsBigint) as History;
        expect(verdicts(parsed)).toEqual(verdicts(history));
      }),
    );
  });

  test('when all times are shifted', () => {
    fc.assert(
      fc.property(anyRun, fc.bigInt({ min: 0n, max: 2n ** 62n }), (history, shift) => {
        const events = history.events.map((event) => ({ ...event, atNs: event.atNs + shift }));
        expect(verdicts({ ...history, events })).toEqual(verdicts(history));
      }),
    );
  });

  test('when an unrelated lock is in the same history', () => {
    fc.assert(
      fc.property(anyRun, anyRun, (history, other) => {
        const foreign = other.events.map((event) => ({
          ...event,
          seq: event.seq + history.events.length,
          process: `x${event.process}`,
          ...('lock' in event ? { lock: 'other' } : {}),
          ...('op' in event ? { op: `x${event.op}` } : {}),
          ...('worker' in event ? { worker: `x${event.worker}` } : {}),
        }));
        const events = [...history.events, ...foreign];
        expect(verdicts({ ...history, events })).toEqual(verdicts(history));
      }),
    );
  });
});

function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `big:${value}` : value;
}

function textAsBigint(_key: string, value: unknown): unknown {
  return typeof value === 'string' && value.startsWith('big:') ? BigInt(value.slice(4)) : value;
}
