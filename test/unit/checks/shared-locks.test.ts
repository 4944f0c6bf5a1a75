import { describe, expect, test } from 'vitest';
import type { InvokeEvent } from '../../../src/domain/event.ts';
import { HistoryBuilder } from '../../helpers/history-builder.ts';
import { resultOf } from './verdicts.ts';

const start = () => new HistoryBuilder();
const reader = { invoke: { mode: 'shared' } } as const;
const busy = { complete: { code: 'busy' } };

/** One permit of a semaphore of two, under an owner of its own. */
function permit(owner: string, more: Partial<InvokeEvent> = {}) {
  return { invoke: { owner, limit: 2, ...more } };
}

describe('a read/write lock', () => {
  test('lets readers be together, and a writer after them', () => {
    const history = start()
      .op('acquire', 'A', [0, 5], 'ok', reader)
      .op('acquire', 'B', [6, 8], 'ok', reader)
      .op('release', 'A', [20, 21], 'ok', reader)
      .op('release', 'B', [30, 31], 'ok', reader)
      .op('acquire', 'C', [10, 35], 'ok');
    expect(resultOf(history, 'mutual-exclusion')).toMatchObject({
      verdict: 'held',
      exercised: 1,
      note: expect.stringContaining('a writer never beside another') as string,
    });
    for (const other of ['no-foreign-release', 'no-foreign-renewal', 'fence-strictly-grows']) {
      expect(resultOf(history, other).verdict, other).toBe('not-exercised');
    }
  });

  test('is violated by a writer beside a reader, whichever came first', () => {
    const history = start()
      .op('acquire', 'A', [0, 5], 'ok', reader)
      .op('acquire', 'B', [6, 8], 'ok', reader)
      .op('acquire', 'C', [10, 15], 'ok')
      .op('release', 'A', [20, 21], 'ok', reader);
    expect(resultOf(history, 'mutual-exclusion')).toMatchObject({
      verdict: 'violated',
      witness: [3, 5],
    });
    const late = start().op('acquire', 'C', [0, 5], 'ok').op('acquire', 'A', [6, 8], 'ok', reader);
    expect(resultOf(late, 'mutual-exclusion')).toMatchObject({ verdict: 'violated' });
  });

  test('a writer may read beside itself (downgrade), and releases both apart', () => {
    const history = start()
      .op('acquire', 'A', [0, 5], 'ok')
      .op('acquire', 'A', [6, 8], 'ok', reader)
      .op('release', 'A', [10, 11], 'ok')
      .op('acquire', 'B', [12, 15], 'ok', reader)
      .op('release', 'A', [20, 21], 'ok', reader)
      .op('release', 'B', [22, 23], 'ok', reader)
      .op('acquire', 'C', [24, 25], 'ok');
    expect(resultOf(history, 'mutual-exclusion')).toMatchObject({ verdict: 'held' });
    expect(resultOf(history, 'no-foreign-release').verdict).toBe('not-exercised');
  });

  test('of which only writers got in, is told of as what it is', () => {
    const history = start()
      .op('acquire', 'A', [0, 5], 'ok')
      .op('acquire', 'B', [6, 8], 'fail', { ...reader, ...busy });
    expect(resultOf(history, 'mutual-exclusion')).toMatchObject({
      verdict: 'held',
      note: '1 grant, a writer never beside another',
    });
  });

  test('tokens are compared among writers only', () => {
    const history = start()
      .op('acquire', 'A', [0, 5], 'ok', { complete: { fence: 1n } })
      .op('release', 'A', [6, 7], 'ok')
      .op('acquire', 'B', [8, 9], 'ok', { ...reader, complete: { fence: 1n } })
      .op('release', 'B', [10, 11], 'ok', reader)
      .op('acquire', 'C', [12, 13], 'ok', { complete: { fence: 1n } });
    expect(resultOf(history, 'fence-strictly-grows')).toMatchObject({
      verdict: 'violated',
      witness: [1, 9],
    });
  });

  test('a reader is refused only for a writer', () => {
    const history = start()
      .op('acquire', 'A', [0, 5], 'ok', reader)
      .op('acquire', 'B', [6, 8], 'fail', { ...reader, ...busy });
    expect(resultOf(history, 'no-false-busy')).toMatchObject({ verdict: 'violated' });
    const maybe = start()
      .op('acquire', 'A', [0, 5], 'ok', reader)
      .op('acquire', 'W', [1, 9], 'unknown')
      .op('acquire', 'B', [6, 8], 'fail', { ...reader, ...busy });
    expect(resultOf(maybe, 'no-false-busy').verdict).toBe('held');
  });
});

describe('a semaphore', () => {
  test('holds while no more permits are out than there are', () => {
    const history = start()
      .op('acquire', 'A', [0, 1], 'ok', permit('p1'))
      .op('acquire', 'A', [2, 3], 'ok', permit('p2'))
      .op('release', 'A', [4, 5], 'ok', { invoke: { owner: 'p1' } })
      .op('acquire', 'B', [6, 7], 'ok', permit('p3'));
    expect(resultOf(history, 'mutual-exclusion')).toMatchObject({
      verdict: 'held',
      exercised: 2,
      note: '3 grants, never above 2 permits',
    });
  });

  test('is violated by one permit too many, shown by the fewest grants', () => {
    const history = start()
      .op('acquire', 'A', [0, 1], 'ok', permit('p1'))
      .op('acquire', 'B', [2, 3], 'ok', permit('p2'))
      .op('acquire', 'C', [4, 5], 'ok', permit('p3', { permits: 2 }));
    expect(resultOf(history, 'mutual-exclusion')).toMatchObject({
      verdict: 'violated',
      witness: [1, 5],
      note: expect.stringContaining('more than 2 permits') as string,
    });
  });

  test('is not exercised while there are permits left', () => {
    const history = start().op('acquire', 'A', [0, 1], 'ok', permit('p1'));
    expect(resultOf(history, 'mutual-exclusion').verdict).toBe('not-exercised');
  });

  test('cannot be judged when two permits have one owner', () => {
    const history = start()
      .op('acquire', 'A', [0, 1], 'ok', permit('p'))
      .op('acquire', 'A', [2, 3], 'ok', permit('p'));
    expect(resultOf(history, 'mutual-exclusion')).toMatchObject({
      verdict: 'inconclusive',
      note: expect.stringContaining('each needs an owner of its own') as string,
    });
  });
});

describe('a reentrant lock', () => {
  const held = (holdCount: number) => ({ complete: { holdCount } });
  const nested = () =>
    start()
      .op('acquire', 'A', [0, 1], 'ok', held(1))
      .op('acquire', 'A', [2, 3], 'ok', held(2))
      .op('release', 'A', [4, 5], 'ok', held(1));

  test('is held until its last release', () => {
    const taken = nested().op('acquire', 'B', [6, 7], 'ok', held(1));
    expect(resultOf(taken, 'mutual-exclusion')).toMatchObject({ verdict: 'violated' });
    const waited = nested()
      .op('release', 'A', [6, 7], 'ok', held(0))
      .op('acquire', 'B', [8, 9], 'ok', held(1));
    expect(resultOf(waited, 'mutual-exclusion')).toMatchObject({ verdict: 'held' });
    expect(resultOf(waited, 'hold-count')).toMatchObject({ verdict: 'held', exercised: 3 });
  });

  test('a release without a reply may have been the last one or not', () => {
    const lost = nested()
      .op('release', 'A', [6, 7], 'unknown')
      .op('acquire', 'B', [8, 9], 'ok', held(1));
    expect(resultOf(lost, 'mutual-exclusion').verdict).toBe('held');
  });

  test('is violated by a count that its operations do not add up to', () => {
    const history = nested().op('release', 'A', [6, 7], 'ok', held(1));
    expect(resultOf(history, 'hold-count')).toMatchObject({
      verdict: 'violated',
      witness: [5, 7],
      note: 'after its release A held the lock 0 times, but the service said 1',
    });
  });

  test('is not exercised without nesting', () => {
    const history = start().op('acquire', 'A', [0, 1], 'ok', held(1));
    expect(resultOf(history, 'hold-count').verdict).toBe('not-exercised');
  });
});

describe('fairness', () => {
  const overtaken = () =>
    start()
      .granted('A', [0, 5], 1n)
      .op('acquire', 'B', [10, 900], 'ok', { complete: { fence: 4n } })
      .release('A', [20, 21])
      .granted('C', [300, 310], 2n)
      .release('C', [320, 321])
      .granted('D', [400, 410], 3n)
      .release('D', [420, 421]);

  test('is violated by later comers that were granted first', () => {
    expect(resultOf(overtaken(), 'fairness')).toMatchObject({
      verdict: 'violated',
      witness: [2, 5, 6],
      note: 'B was overtaken 2 times while it waited; the bound is 0',
    });
    const bounded = resultOf(overtaken(), 'fairness', { options: { bound: 2 } });
    expect(bounded).toMatchObject({ verdict: 'held', exercised: 1 });
  });

  test('those who asked within the grace may have been first', () => {
    const result = resultOf(overtaken(), 'fairness', { options: { graceMs: 350 } });
    expect(result.note).toContain('overtaken 1 time');
    expect(resultOf(overtaken(), 'fairness', { options: { graceMs: 500 } }).verdict).toBe('held');
  });

  test('is open when a fault may have held up the request', () => {
    const history = overtaken().fault('cut', 'B', 9, 200);
    expect(resultOf(history, 'fairness').verdict).toBe('inconclusive');
  });

  test('is not exercised when nobody waits', () => {
    expect(resultOf(start().granted('A', [0, 5], 1n), 'fairness').verdict).toBe('not-exercised');
  });

  test('refuses an option that is no number', () => {
    const result = resultOf(overtaken(), 'fairness', { options: { bound: 'few' } });
    expect(result).toMatchObject({ verdict: 'inconclusive' });
    expect(result.note).toContain('bound is few');
  });
});
