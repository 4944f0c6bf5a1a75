import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { judge } from '../../../src/checks/judge.ts';
import { defaultInvariants, parseInvariant } from '../../../src/checks/registry.ts';
import type { History } from '../../../src/domain/event.ts';
import { compareWithSearch, lockHistory } from './lock-histories.ts';
import { compareShared } from './shared-search.ts';
import { simulate } from './simulated-runs.ts';

/** The simulated workers ignore their deadlines on purpose: that rule is about workers. */
const serviceRules = ({ name }: { readonly name: string }): boolean =>
  name !== 'no-work-after-known-loss';
const everything = [...defaultInvariants(), parseInvariant('no-false-busy')];

describe('the judge against an exhaustive search', () => {
  test('both find the same histories explainable, lost replies and busy replies included', () => {
    const seen = compareWithSearch(4000);
    expect(Math.min(seen.explainable, seen.not)).toBeGreaterThan(400);
  });

  test.each([undefined, 1, 2])(
    'both find the same histories of read/write locks and semaphores explainable (limit %s)',
    (limit) => {
      const seen = compareShared(limit, 2000);
      expect(Math.min(seen.sound, seen.not)).toBeGreaterThan(100);
    },
  );
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
