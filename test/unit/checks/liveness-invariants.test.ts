import { describe, expect, test } from 'vitest';
import { HistoryBuilder } from '../../helpers/history-builder.ts';
import { resultOf } from './verdicts.ts';

const leasePlus = (addMs: number) => ({ within: { leaseFactor: 1, addMs } });

describe('takeover', () => {
  /** A holds, is paused at 100 ms, its lease ends at 1000 ms, B is granted the lock at `grantedMs`. */
  const takenOver = (grantedMs: number) =>
    new HistoryBuilder()
      .granted('A', [0, 5], 1n)
      .fault('pause', 'A', 100, 5000)
      .observe(1005, 'lock-state', { absent: true })
      .granted('B', [1010, grantedMs], 2n)
      .write('B', [grantedMs + 5, grantedMs + 15], 2n, 'accepted');

  test('holds within its bound and is told in three parts', () => {
    expect(resultOf(takenOver(1020), 'takeover', leasePlus(500))).toMatchObject({
      verdict: 'held',
      exercised: 1,
      note: "1 takeover, the longest 920 ms (905 ms to the lease's end, 15 ms to the grant, 15 ms more to the first effect)",
    });
  });

  test('is violated by a later grant; the bound counts from the lease granted', () => {
    expect(resultOf(takenOver(1700), 'takeover', leasePlus(500))).toMatchObject({
      verdict: 'violated',
      witness: [2, 4, 5],
    });
  });

  test('may count from the expiry instead', () => {
    const fromExpiry = { within: { leaseFactor: 0, addMs: 100 }, options: { from: 'expiry' } };
    expect(resultOf(takenOver(1020), 'takeover', fromExpiry).verdict).toBe('held');
    expect(resultOf(takenOver(1200), 'takeover', fromExpiry).verdict).toBe('violated');
  });

  test('is not exercised when nobody was stopped, nobody asked, or no bound was given', () => {
    const quiet = new HistoryBuilder().granted('A', [0, 5], 1n);
    expect(resultOf(quiet, 'takeover', leasePlus(500)).verdict).toBe('not-exercised');
    const unasked = new HistoryBuilder().granted('A', [0, 5], 1n).fault('pause', 'A', 100, 9000);
    expect(resultOf(unasked, 'takeover', leasePlus(500)).verdict).toBe('not-exercised');
    expect(resultOf(takenOver(1020), 'takeover')).toMatchObject({
      verdict: 'not-exercised',
      note: expect.stringContaining('no bound given') as string,
    });
  });

  test('is inconclusive when the history ends before the bound, or no lease is known', () => {
    const open = new HistoryBuilder()
      .granted('A', [0, 5], 1n)
      .fault('pause', 'A', 100, undefined)
      .op('acquire', 'B', [500, 0], undefined);
    expect(resultOf(open, 'takeover', leasePlus(500)).verdict).toBe('inconclusive');
    const noLease = new HistoryBuilder()
      .op('acquire', 'A', [0, 5], 'ok')
      .fault('pause', 'A', 100, 9000)
      .granted('B', [1000, 1001], 2n);
    expect(resultOf(noLease, 'takeover', leasePlus(500)).verdict).toBe('inconclusive');
  });
});

describe('progress', () => {
  const after = (toMs: number | undefined) =>
    new HistoryBuilder().granted('A', [0, 5], 1n).fault('cut', 'A', 100, toMs);
  const busy = { complete: { code: 'busy' } };

  test('holds when somebody gets on within the bound', () => {
    const history = after(2000).granted('B', [2100, 2110], 2n);
    expect(resultOf(history, 'progress', leasePlus(0))).toMatchObject({
      verdict: 'held',
      note: "first success 110 ms after the last fault's end",
    });
  });

  test('is violated when all who asked were refused until after the bound', () => {
    const history = after(2000)
      .op('acquire', 'B', [2100, 2110], 'fail', busy)
      .observe(3500, 'lock-state', { absent: true });
    expect(resultOf(history, 'progress', leasePlus(0))).toMatchObject({
      verdict: 'violated',
      witness: [3, 4],
    });
  });

  test('a stale holder that is refused is no lack of progress', () => {
    const history = after(2000)
      .write('A', [2100, 2110], 1n, 'refused')
      .observe(3500, 'lock-state', { absent: true });
    expect(resultOf(history, 'progress', leasePlus(0)).verdict).toBe('not-exercised');
  });

  test('is inconclusive when a fault did not end, or the history ends too soon', () => {
    expect(resultOf(after(undefined), 'progress', leasePlus(0)).verdict).toBe('inconclusive');
    const short = after(2000).op('acquire', 'B', [2100, 2110], 'fail', busy);
    expect(resultOf(short, 'progress', leasePlus(0)).verdict).toBe('inconclusive');
  });

  test('is not exercised without a fault', () => {
    const history = new HistoryBuilder().granted('A', [0, 5], 1n);
    expect(resultOf(history, 'progress', leasePlus(0)).verdict).toBe('not-exercised');
  });
});
