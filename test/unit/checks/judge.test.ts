import { describe, expect, test } from 'vitest';
import { judge } from '../../../src/checks/judge.ts';
import {
  defaultInvariants,
  invariantLevels,
  parseInvariant,
} from '../../../src/checks/registry.ts';
import type { History, HistoryEvent } from '../../../src/domain/event.ts';
import { HistoryBuilder } from '../../helpers/history-builder.ts';

const violated = () => new HistoryBuilder().granted('A', [0, 5], 1n).granted('B', [60, 65], 2n);
const exclusion = [parseInvariant('mutual-exclusion')];

function altered(change: (events: HistoryEvent[]) => HistoryEvent[]): History {
  const history = violated().build();
  return { ...history, events: change([...history.events]) };
}

describe('assumptions', () => {
  test('hold for a sound history and come first', () => {
    const [first, second] = judge(violated().build(), exclusion);
    expect(first).toMatchObject({ invariant: 'assumptions', verdict: 'held' });
    expect(second).toMatchObject({ invariant: 'mutual-exclusion:service', verdict: 'violated' });
  });

  test.each([
    ['a gap in seq', altered((events) => events.filter(({ seq }) => seq !== 2))],
    [
      'a completion without invocation',
      altered((events) =>
        events.map((event) => (event.kind === 'complete' ? { ...event, op: 'stranger' } : event)),
      ),
    ],
    [
      'an operation id used twice',
      altered((events) =>
        events.map((event) => ('op' in event ? { ...event, op: 'same' } : event)),
      ),
    ],
    ['two operations at once of one worker', violated().write('A', [1, 2], 1n, 'accepted').build()],
    [
      'a lock on two clocks',
      altered((events) =>
        events.map((event) => (event.process === 'B' ? { ...event, clock: 'other' } : event)),
      ),
    ],
  ])('%s makes dependent verdicts inconclusive', (_what, history) => {
    const [first, second] = judge(history, exclusion);
    expect(first?.verdict).toBe('inconclusive');
    expect(second?.verdict).toBe('inconclusive');
    expect(second?.witness).toEqual([]);
  });

  test('a worker that goes on after an unknown outcome is told, and verdicts stand', () => {
    const history = violated()
      .op('write', 'A', [100, 110], 'unknown')
      .op('write', 'A', [120, 130], 'ok')
      .build();
    const [first, second] = judge(history, exclusion);
    expect(first?.verdict).toBe('inconclusive');
    expect(second?.verdict).toBe('violated');
  });

  test('a renewal may run beside another operation', () => {
    const history = violated()
      .write('A', [10, 50], 1n, 'accepted')
      .op('renew', 'A', [20, 21], 'ok');
    expect(judge(history.build(), [])[0]?.verdict).toBe('held');
  });
});

describe('the judge', () => {
  test('passes nothing on a history without events', () => {
    const results = judge(new HistoryBuilder().build(), defaultInvariants());
    for (const result of results.slice(1)) expect(result.verdict).toBe('not-exercised');
  });

  test('an unknown invariant and a checker that throws are inconclusive', () => {
    const results = judge(violated().build(), [
      { name: 'no-such', options: {} },
      { name: 'mutual-exclusion', level: 'no-such', options: {} },
    ]);
    expect(results.slice(1).map(({ verdict }) => verdict)).toEqual([
      'inconclusive',
      'inconclusive',
    ]);
  });

  test('a lease given from outside serves grants that name none', () => {
    const history = new HistoryBuilder()
      .op('acquire', 'A', [0, 5], 'ok')
      .op('acquire', 'B', [60, 65], 'ok')
      .build();
    expect(judge(history, exclusion, { leaseMs: 50 })[1]?.verdict).toBe('held');
    expect(judge(history, exclusion)[1]?.verdict).toBe('violated');
  });

  test('each lock gets its own result', () => {
    const history = violated().op('acquire', 'C', [70, 75], 'ok', { invoke: { lock: 'other' } });
    const results = judge(history.build(), exclusion).slice(1);
    expect(results.map(({ lock, verdict }) => [lock, verdict])).toEqual([
      ['lock:o', 'violated'],
      ['other', 'not-exercised'],
    ]);
  });
});

describe('invariant names', () => {
  test('a level is optional and the default is the first', () => {
    expect(parseInvariant('mutual-exclusion').level).toBe('service');
    expect(parseInvariant('mutual-exclusion:effect').level).toBe('effect');
    expect(invariantLevels['mutual-exclusion']).toEqual(['service', 'effect', 'belief']);
  });

  test.each(['mutual-exclusoin', 'mutual-exclusion:efect', 'no-foriegn-release'])(
    '%s is refused with the nearest name',
    (name) => {
      expect(() => parseInvariant(name)).toThrow(
        expect.objectContaining({
          hint: expect.stringMatching(/^did you mean "/) as string,
        }) as Error,
      );
    },
  );
});
