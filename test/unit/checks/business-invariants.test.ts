import { describe, expect, test } from 'vitest';
import { HistoryBuilder } from '../../helpers/history-builder.ts';
import { resultOf } from './verdicts.ts';

/** A was granted token 1 and lost it, B was granted token 2. */
const handedOver = () =>
  new HistoryBuilder().granted('A', [0, 5], 1n).granted('B', [1100, 1105], 2n);

describe('stale writes', () => {
  test('hold when the older write arrived after the newer one and was refused', () => {
    const history = handedOver()
      .write('B', [1110, 1120], 2n, 'accepted')
      .write('A', [1200, 1210], 1n, 'refused');
    expect(resultOf(history, 'no-stale-write-accepted')).toMatchObject({
      verdict: 'held',
      exercised: 1,
    });
  });

  test('are violated by an older write accepted afterwards', () => {
    const history = handedOver()
      .write('B', [1110, 1120], 2n, 'accepted')
      .write('A', [1200, 1210], 1n, 'accepted');
    expect(resultOf(history, 'no-stale-write-accepted')).toMatchObject({
      verdict: 'violated',
      witness: [5, 7],
    });
  });

  test("the resource's versions convict where real time cannot", () => {
    const history = (versionOfA: bigint) =>
      handedOver()
        .write('A', [900, 1300], 1n, 'accepted', { complete: { version: versionOfA } })
        .write('B', [1110, 1120], 2n, 'accepted', { complete: { version: 2n } });
    expect(resultOf(history(3n), 'no-stale-write-accepted').verdict).toBe('violated');
    expect(resultOf(history(1n), 'no-stale-write-accepted').verdict).toBe('not-exercised');
  });

  test('one token accepted from two owners is a violation', () => {
    const history = handedOver()
      .write('A', [900, 910], 1n, 'accepted')
      .write('B', [1110, 1120], 1n, 'accepted');
    expect(resultOf(history, 'no-stale-write-accepted').verdict).toBe('violated');
  });

  test('an older write without a reply is settled by the ledger, or stays open', () => {
    const lost = () =>
      handedOver()
        .write('B', [1110, 1120], 2n, 'accepted', { complete: { version: 1n } })
        .write('A', [1200, 1300], 1n, 'unknown');
    const verdict = (history: HistoryBuilder) =>
      resultOf(history, 'no-stale-write-accepted').verdict;
    expect(verdict(lost())).toBe('inconclusive');
    const rowOfB = { owner: 'B-owner', fence: 2n };
    expect(verdict(lost().row(1400, 1n, rowOfB).ledgerRead(1401))).toBe('not-exercised');
    const rowOfA = { owner: 'A-owner', fence: 1n };
    expect(verdict(lost().row(1400, 2n, { ...rowOfA, accepted: false }))).toBe('held');
    expect(verdict(lost().row(1400, 2n, rowOfA))).toBe('violated');
  });

  test('are not exercised when the old owner never tried, or nobody has a token', () => {
    const untried = handedOver().write('B', [1110, 1120], 2n, 'accepted');
    expect(resultOf(untried, 'no-stale-write-accepted').verdict).toBe('not-exercised');
    const unfenced = new HistoryBuilder()
      .op('acquire', 'A', [0, 5], 'ok')
      .op('write', 'A', [6, 7], 'ok');
    expect(resultOf(unfenced, 'no-stale-write-accepted')).toMatchObject({
      verdict: 'not-exercised',
      note: 'writes carry no token',
    });
  });

  test('a refusal that no newer write explains is a remark, not a violation', () => {
    const history = handedOver().write('A', [900, 910], 1n, 'refused');
    expect(resultOf(history, 'no-stale-write-accepted')).toMatchObject({
      verdict: 'not-exercised',
      note: expect.stringContaining('1 refusal as stale that no newer write explains') as string,
    });
  });

  test('writes on different subjects are different registers', () => {
    const history = handedOver()
      .write('B', [1110, 1120], 2n, 'accepted')
      .write('A', [1200, 1210], 1n, 'accepted', { invoke: { subject: 'o-2' } });
    expect(resultOf(history, 'no-stale-write-accepted').verdict).toBe('not-exercised');
    expect(resultOf(history, 'mutual-exclusion:effect').verdict).toBe('violated');
  });
});

describe('mutual exclusion of effects', () => {
  test('holds when work follows the order of the grants', () => {
    const history = handedOver()
      .write('A', [900, 910], 1n, 'accepted')
      .write('B', [1110, 1120], 2n, 'accepted');
    expect(resultOf(history, 'mutual-exclusion:effect')).toMatchObject({
      verdict: 'held',
      exercised: 1,
    });
  });

  test('is judged by the grants where writes carry no token', () => {
    const history = new HistoryBuilder()
      .op('acquire', 'A', [0, 5], 'ok', { complete: { grantedTtlMs: 1000 } })
      .op('acquire', 'B', [1100, 1105], 'ok', { complete: { grantedTtlMs: 1000 } })
      .op('effect', 'B', [1110, 1120], 'ok')
      .op('effect', 'A', [1200, 1210], 'ok');
    expect(resultOf(history, 'mutual-exclusion:effect')).toMatchObject({
      verdict: 'violated',
      witness: [5, 7],
    });
  });

  test('is inconclusive when the older work got no reply, and not exercised by one worker', () => {
    const lost = handedOver()
      .write('B', [1110, 1120], 2n, 'accepted')
      .write('A', [1200, 1300], 1n, 'unknown');
    expect(resultOf(lost, 'mutual-exclusion:effect').verdict).toBe('inconclusive');
    const alone = handedOver().write('B', [1110, 1120], 2n, 'accepted');
    expect(resultOf(alone, 'mutual-exclusion:effect').verdict).toBe('not-exercised');
  });
});

describe.each(['effect-at-most-once', 'order-closed-once'])('%s', (invariant) => {
  const twoTries = (second: 'accepted' | 'refused' | 'unknown') =>
    handedOver().write('B', [1110, 1120], 2n, 'accepted').write('A', [1200, 1300], 1n, second);

  test('holds when two attempts gave one row', () => {
    const history = twoTries('refused').row(1400, 1n).ledgerRead(1401);
    expect(resultOf(history, invariant)).toMatchObject({ verdict: 'held', exercised: 1 });
  });

  test('is violated by two rows, or by two accepted replies without a ledger', () => {
    const rows = twoTries('unknown').row(1400, 1n).row(1400, 2n).ledgerRead(1401);
    expect(resultOf(rows, invariant)).toMatchObject({ verdict: 'violated', witness: [8, 9] });
    expect(resultOf(twoTries('accepted'), invariant)).toMatchObject({
      verdict: 'violated',
      witness: [5, 7],
    });
  });

  test('one row read twice is one row', () => {
    const history = twoTries('refused')
      .row(1400, 1n)
      .ledgerRead(1401)
      .row(1500, 1n)
      .ledgerRead(1501);
    expect(resultOf(history, invariant).verdict).toBe('held');
  });

  test('rows without an order are told apart by the reading they belong to', () => {
    const unordered = (history: HistoryBuilder, atMs: number) =>
      history.observe(atMs, 'effect-row', {
        resource: 'orders',
        subject: 'o-1',
        business: 'close-order',
        effectId: 'close-o-1',
      });
    const once = unordered(unordered(twoTries('refused'), 1400).ledgerRead(1401), 1500).ledgerRead(
      1501,
    );
    expect(resultOf(once, invariant).verdict).toBe('held');
    const twice = unordered(unordered(twoTries('refused'), 1400), 1401).ledgerRead(1402);
    expect(resultOf(twice, invariant).verdict).toBe('violated');
  });

  test('an effect recorded as begun and completed is one effect', () => {
    const history = twoTries('refused')
      .row(1400, 1n)
      .row(1401, 2n, { business: 'complete-effect' })
      .ledgerRead(1402);
    expect(resultOf(history, invariant).verdict).toBe('held');
  });

  test('is inconclusive without a reading of the ledger, and not exercised by one attempt', () => {
    expect(resultOf(twoTries('refused'), invariant).verdict).toBe('inconclusive');
    const one = handedOver()
      .write('B', [1110, 1120], 2n, 'accepted')
      .row(1400, 1n)
      .ledgerRead(1401);
    expect(resultOf(one, invariant).verdict).toBe('not-exercised');
  });
});

describe('stock released once', () => {
  test('counts by item, whatever the effect ids', () => {
    const released = (worker: string) => ({
      invoke: { business: 'release-stock', subject: 'sku-1', effectId: `by-${worker}` },
    });
    const history = handedOver()
      .write('A', [900, 910], 1n, 'accepted', released('A'))
      .write('B', [1110, 1120], 2n, 'accepted', released('B'));
    expect(resultOf(history, 'stock-released-once').verdict).toBe('violated');
    expect(resultOf(history, 'effect-at-most-once').verdict).toBe('not-exercised');
  });
});

describe('paid orders', () => {
  const paidThen = (close: 'accepted' | 'refused' | 'unknown') =>
    handedOver()
      .write('A', [900, 910], 1n, 'accepted', {
        invoke: { business: 'pay-order', effectId: 'pay' },
      })
      .write('B', [1110, 1120], 2n, close);

  test.each([
    ['refused', 'held'],
    ['accepted', 'violated'],
    ['unknown', 'inconclusive'],
  ] as const)('with a close that was %s: %s', (close, verdict) => {
    expect(resultOf(paidThen(close), 'paid-order-never-closed').verdict).toBe(verdict);
  });

  test('are not exercised when nobody pays', () => {
    const history = handedOver().write('B', [1110, 1120], 2n, 'accepted');
    expect(resultOf(history, 'paid-order-never-closed').verdict).toBe('not-exercised');
  });
});

describe('checkpoints', () => {
  const secondThenFirst = (first: 'ok' | 'fail' | 'unknown') =>
    handedOver()
      .op('checkpoint', 'B', [1110, 1120], 'ok', {
        invoke: { attempt: 2 },
        complete: { accepted: true },
      })
      .op('checkpoint', 'A', [1200, 1210], first, {
        invoke: { attempt: 1 },
        complete: first === 'fail' ? { accepted: false } : {},
      });

  test.each([
    ['fail', 'held'],
    ['ok', 'violated'],
    ['unknown', 'inconclusive'],
  ] as const)('of an older attempt answered %s: %s', (first, verdict) => {
    expect(resultOf(secondThenFirst(first), 'stale-checkpoint-refused').verdict).toBe(verdict);
  });

  test('are not exercised without an older attempt', () => {
    expect(resultOf(handedOver(), 'stale-checkpoint-refused').verdict).toBe('not-exercised');
  });
});

describe('work without a grant', () => {
  test('holds when all accepted work was granted', () => {
    const history = handedOver().write('B', [1110, 1120], 2n, 'accepted');
    expect(resultOf(history, 'no-effect-without-grant').verdict).toBe('held');
  });

  test('is violated without a grant, and after the release', () => {
    const stranger = handedOver().write('C', [1110, 1120], 3n, 'accepted');
    expect(resultOf(stranger, 'no-effect-without-grant').verdict).toBe('violated');
    const released = handedOver()
      .release('B', [1110, 1111])
      .write('B', [1120, 1121], 2n, 'accepted');
    expect(resultOf(released, 'no-effect-without-grant')).toMatchObject({
      verdict: 'violated',
      witness: [4, 6, 7],
    });
  });

  test("is inconclusive when the acquire's reply was lost, and not exercised without work", () => {
    const lost = new HistoryBuilder()
      .op('acquire', 'A', [0, 10], 'unknown')
      .write('A', [20, 21], 1n, 'accepted');
    expect(resultOf(lost, 'no-effect-without-grant').verdict).toBe('inconclusive');
    expect(resultOf(handedOver(), 'no-effect-without-grant').verdict).toBe('not-exercised');
  });

  test('a confirm proves the grant whose reply was lost', () => {
    const history = new HistoryBuilder()
      .op('acquire', 'A', [0, 10], 'unknown')
      .op('confirm', 'A', [11, 12], 'ok', { complete: { fence: 1n, grantedTtlMs: 1000 } })
      .write('A', [20, 21], 1n, 'accepted');
    expect(resultOf(history, 'no-effect-without-grant').verdict).toBe('held');
  });
});

describe('work after a known loss', () => {
  test('holds when a holder that was told goes on and begins nothing', () => {
    const history = handedOver().lost('A', 1110).release('A', [1200, 1201], 'fail', 'not-owner');
    expect(resultOf(history, 'no-work-after-known-loss')).toMatchObject({
      verdict: 'held',
      exercised: 1,
    });
  });

  test('is violated by a step begun after the notice, or past the deadline', () => {
    const told = handedOver().lost('A', 500).write('A', [600, 601], 1n, 'refused');
    expect(resultOf(told, 'no-work-after-known-loss')).toMatchObject({
      verdict: 'violated',
      witness: [2, 3],
    });
    const overdue = handedOver().write('A', [1050, 1051], 1n, 'accepted');
    expect(resultOf(overdue, 'no-work-after-known-loss')).toMatchObject({
      verdict: 'violated',
      note: 'A began close-order 50 ms past its own deadline',
    });
  });

  test('a worker that refuses by itself began nothing', () => {
    const history = handedOver()
      .lost('A', 1110)
      .op('write', 'A', [1200, 1200], 'fail', { complete: { code: 'self-check' } });
    expect(resultOf(history, 'no-work-after-known-loss').verdict).toBe('held');
  });

  test('is not exercised by a holder that merely outlives its lease', () => {
    const history = handedOver().release('A', [1300, 1301]);
    expect(resultOf(history, 'no-work-after-known-loss')).toMatchObject({
      verdict: 'not-exercised',
      note: expect.stringContaining(
        'A (fence 1) outlived its lease by 300 ms: 105 ms without a lease, then 195 ms beside B (fence 2)',
      ) as string,
    });
  });
});
