import { describe, expect, test } from 'vitest';
import { HistoryBuilder } from '../../helpers/history-builder.ts';
import { resultOf } from './verdicts.ts';

const start = () => new HistoryBuilder();

describe('mutual exclusion of the service', () => {
  test('holds when the second grant follows the first release', () => {
    const history = start()
      .granted('A', [0, 5], 1n)
      .release('A', [50, 55])
      .granted('B', [60, 65], 2n);
    expect(resultOf(history, 'mutual-exclusion')).toMatchObject({ verdict: 'held', exercised: 1 });
  });

  test('is violated by a grant inside another lease, shown by the two replies', () => {
    const history = start().granted('A', [0, 5], 1n).granted('B', [60, 65], 2n);
    expect(resultOf(history, 'mutual-exclusion')).toMatchObject({
      verdict: 'violated',
      witness: [1, 3],
      note: 'A (fence 1) and B (fence 2) were granted the lock at once, from 65.0 ms to 1000.0 ms',
    });
  });

  test('a lease that a renewal prolonged is shown with that renewal', () => {
    const history = start()
      .granted('A', [0, 5], 1n)
      .op('renew', 'A', [800, 805], 'ok', { complete: { grantedTtlMs: 1000 } })
      .granted('B', [1200, 1205], 2n);
    expect(resultOf(history, 'mutual-exclusion')).toMatchObject({
      verdict: 'violated',
      witness: [1, 3, 5],
    });
  });

  test('is not exercised while nobody competes', () => {
    expect(resultOf(start().granted('A', [0, 5], 1n), 'mutual-exclusion').verdict).toBe(
      'not-exercised',
    );
  });

  test('is inconclusive when a record nobody was told of was seen inside a grant', () => {
    const history = start()
      .op('acquire', 'A', [0, 10], 'unknown')
      .granted('B', [20, 25], 2n)
      .observe(30, 'lock-state', { owner: 'A-owner', fence: 1n })
      .observe(40, 'lock-state', { owner: 'A-owner', fence: 1n })
      .observe(50, 'lock-state', { owner: 'A-owner', fence: 1n })
      .release('B', [60, 61])
      .granted('C', [70, 71], 3n);
    expect(resultOf(history, 'mutual-exclusion').verdict).toBe('inconclusive');
  });

  test('a lost acquire reply alone breaks nothing', () => {
    const history = start()
      .op('acquire', 'A', [0, 10], 'unknown')
      .granted('B', [1100, 1105], 2n)
      .release('B', [1110, 1111])
      .granted('C', [1120, 1121], 3n);
    expect(resultOf(history, 'mutual-exclusion').verdict).toBe('held');
  });

  test('a lease counts from before the acquire was sent, and as granted, not as asked', () => {
    const history = start()
      .op('acquire', 'A', [0, 300], 'ok', {
        invoke: { leaseMs: 5000 },
        complete: { grantedTtlMs: 1000 },
      })
      .granted('B', [1001, 1005], 2n);
    expect(resultOf(history, 'mutual-exclusion').verdict).toBe('held');
  });
});

describe('belief', () => {
  const paused = start()
    .granted('A', [0, 5], 1n)
    .granted('B', [1100, 1105], 2n)
    .op('release', 'A', [2000, 2001], 'fail', { complete: { code: 'not-owner' } });

  test('is violated by a frozen holder although the service kept its promise', () => {
    expect(resultOf(paused, 'mutual-exclusion:belief').verdict).toBe('violated');
    expect(resultOf(paused, 'mutual-exclusion:service').verdict).toBe('held');
  });
});

describe('fencing tokens', () => {
  test('hold when each grant carries a larger one', () => {
    const history = start().granted('A', [0, 5], 9n).release('A', [6, 7]).granted('B', [8, 9], 10n);
    expect(resultOf(history, 'fence-strictly-grows')).toMatchObject({
      verdict: 'held',
      exercised: 1,
    });
  });

  test('are compared as numbers beyond 2^53', () => {
    const history = start()
      .granted('A', [0, 5], 9007199254740993n)
      .release('A', [6, 7])
      .granted('B', [8, 9], 9007199254740992n);
    expect(resultOf(history, 'fence-strictly-grows')).toMatchObject({
      verdict: 'violated',
      witness: [1, 5],
    });
  });

  test('a token given twice is a violation', () => {
    const history = start().granted('A', [0, 5], 1n).granted('B', [4, 6], 1n);
    expect(resultOf(history, 'fence-strictly-grows').verdict).toBe('violated');
  });

  test('an acquire repeated with the same owner gives the same grant and no violation', () => {
    const history = start()
      .granted('A', [0, 5], 1n)
      .granted('A', [10, 12], 1n)
      .release('A', [20, 21])
      .granted('B', [30, 31], 2n);
    expect(resultOf(history, 'fence-strictly-grows').verdict).toBe('held');
    expect(resultOf(history, 'mutual-exclusion').verdict).toBe('held');
  });

  test("the service's own order convicts although no worker saw the grants", () => {
    const history = start()
      .observe(1, 'grant', { owner: 'x', order: 1n, fence: 5n })
      .observe(2, 'grant', { owner: 'y', order: 2n, fence: 4n });
    expect(resultOf(history, 'fence-strictly-grows')).toMatchObject({
      verdict: 'violated',
      witness: [0, 1],
    });
  });

  test('two replication histories are not compared with each other', () => {
    const history = start()
      .observe(1, 'grant', { owner: 'x', order: 1n, fence: 5n, epoch: 'p' })
      .observe(2, 'grant', { owner: 'y', order: 2n, fence: 4n, epoch: 'q' });
    expect(resultOf(history, 'fence-strictly-grows').verdict).toBe('held');
  });

  test('are not exercised by one token, and inconclusive when some grants have none', () => {
    expect(resultOf(start().granted('A', [0, 5], 1n), 'fence-strictly-grows').verdict).toBe(
      'not-exercised',
    );
    const mixed = start()
      .granted('A', [0, 5], 1n)
      .release('A', [6, 7])
      .op('acquire', 'B', [8, 9], 'ok');
    expect(resultOf(mixed, 'fence-strictly-grows').verdict).toBe('inconclusive');
  });
});

describe('foreign release', () => {
  /** A's lease is over, B holds, A releases by name. */
  const taken = () =>
    start()
      .granted('A', [0, 5], 1n)
      .granted('B', [1100, 1105], 2n)
      .observe(1110, 'lock-state', { owner: 'B-owner', fence: 2n });

  test("holds when the holder's record was seen before and after", () => {
    const history = taken()
      .release('A', [1200, 1201], 'fail', 'not-owner')
      .observe(1210, 'lock-state', { owner: 'B-owner', fence: 2n });
    expect(resultOf(history, 'no-foreign-release')).toMatchObject({
      verdict: 'held',
      exercised: 1,
    });
  });

  test('is violated when the record was seen gone after an accepted release', () => {
    const history = taken()
      .release('A', [1200, 1201])
      .observe(1210, 'lock-state', { absent: true });
    expect(resultOf(history, 'no-foreign-release')).toMatchObject({
      verdict: 'violated',
      witness: [3, 6, 7],
    });
  });

  test('is violated when the victim was told of its loss before anybody else saw it', () => {
    const history = taken()
      .release('A', [1200, 1201])
      .lost('B', 1205)
      .observe(1210, 'removal', { owner: 'B-owner', fence: 2n, cause: 'removed-early' });
    expect(resultOf(history, 'no-foreign-release').verdict).toBe('violated');
  });

  test('is violated by an early removal that was read after the lease', () => {
    const history = taken()
      .release('A', [1200, 1201])
      .observe(2300, 'removal', { owner: 'B-owner', fence: 2n, cause: 'removed-early' });
    expect(resultOf(history, 'no-foreign-release')).toMatchObject({
      verdict: 'violated',
      witness: [3, 6, 7],
    });
  });

  test.each([
    ['unknown', 'inconclusive'],
    // These end the hold at an instant that nobody knows: it may have been over before.
    ['session-ended', 'not-exercised'],
    ['force-released', 'not-exercised'],
  ])('a removal that was read after the lease and is %s proves nothing', (cause, verdict) => {
    const history = taken()
      .release('A', [1200, 1201])
      .observe(2300, 'removal', { owner: 'B-owner', fence: 2n, cause });
    expect(resultOf(history, 'no-foreign-release').verdict).toBe(verdict);
  });

  test('an early removal of a later hold with the same owner token says nothing of this one', () => {
    const history = taken()
      .release('A', [1200, 1201])
      .granted('B', [2200, 2205], 3n)
      .observe(2300, 'removal', { owner: 'B-owner', fence: 3n, cause: 'removed-early' });
    expect(resultOf(history, 'no-foreign-release').verdict).toBe('inconclusive');
  });

  test('a release that said ok is no evidence by itself', () => {
    expect(resultOf(taken().release('A', [1200, 1201]), 'no-foreign-release').verdict).toBe(
      'inconclusive',
    );
  });

  test('a failover that may explain the loss leaves it open', () => {
    const history = taken()
      .release('A', [1200, 1201])
      .fault('failover', 'primary', 1150, 1190)
      .observe(1210, 'lock-state', { absent: true });
    expect(resultOf(history, 'no-foreign-release').verdict).toBe('inconclusive');
  });

  test('a release without a reply leaves a lost record open', () => {
    const history = taken()
      .release('A', [1200, 1201], 'unknown')
      .observe(1210, 'lock-state', { absent: true });
    expect(resultOf(history, 'no-foreign-release').verdict).toBe('inconclusive');
  });

  test('a release without a reply missed the holder that was seen later and found its own record', () => {
    const seen = () =>
      taken()
        .release('A', [1200, 1201], 'unknown')
        .observe(1210, 'lock-state', { owner: 'B-owner', fence: 2n });
    expect(resultOf(seen(), 'no-foreign-release').verdict).toBe('inconclusive');
    expect(resultOf(seen().release('B', [1300, 1301]), 'no-foreign-release').verdict).toBe('held');
    const failed = seen().release('B', [1300, 1301], 'fail', 'not-owner');
    expect(resultOf(failed, 'no-foreign-release').verdict).not.toBe('held');
  });

  test('is not exercised when everybody releases his own', () => {
    const history = start()
      .granted('A', [0, 5], 1n)
      .release('A', [50, 55])
      .granted('B', [60, 65], 2n);
    expect(resultOf(history, 'no-foreign-release').verdict).toBe('not-exercised');
  });
});

describe('foreign renewal', () => {
  const renewed = (outcome: 'ok' | 'fail' | 'unknown') =>
    start()
      .granted('A', [0, 5], 1n)
      .granted('B', [1100, 1105], 2n)
      .op('renew', 'A', [1200, 1201], outcome, {
        complete: outcome === 'fail' ? { code: 'not-owner' } : {},
      });

  test('holds when it was refused, is violated when it was accepted', () => {
    expect(resultOf(renewed('fail'), 'no-foreign-renewal').verdict).toBe('held');
    expect(resultOf(renewed('ok'), 'no-foreign-renewal')).toMatchObject({
      verdict: 'violated',
      witness: [3, 4, 5],
    });
  });

  test('is inconclusive without a reply and not exercised without an attempt', () => {
    expect(resultOf(renewed('unknown'), 'no-foreign-renewal').verdict).toBe('inconclusive');
    expect(resultOf(start().granted('A', [0, 5], 1n), 'no-foreign-renewal').verdict).toBe(
      'not-exercised',
    );
  });

  test("is violated when the holder's remaining time rose with somebody else's renewal", () => {
    const history = start()
      .granted('A', [0, 5], 1n)
      .granted('B', [1100, 1105], 2n)
      .observe(1150, 'lock-state', { owner: 'B-owner', ttlMs: 950 })
      .op('renew', 'A', [1200, 1201], 'fail', { complete: { code: 'not-owner' } })
      .observe(1250, 'lock-state', { owner: 'B-owner', ttlMs: 1900 });
    expect(resultOf(history, 'no-foreign-renewal')).toMatchObject({
      verdict: 'violated',
      witness: [4, 5, 7],
    });
  });

  test('is violated when a renewal brought a gone record back', () => {
    const history = start()
      .granted('A', [0, 5], 1n)
      .observe(100, 'lock-state', { owner: 'A-owner' })
      .observe(1100, 'lock-state', { absent: true })
      .op('renew', 'A', [1200, 1201], 'ok')
      .observe(1210, 'lock-state', { owner: 'A-owner' });
    expect(resultOf(history, 'no-foreign-renewal').verdict).toBe('violated');
  });
});

describe('false busy replies', () => {
  const busy = { complete: { code: 'busy' } };

  test('hold while somebody may hold the lock', () => {
    const history = start().granted('A', [0, 5], 1n).op('acquire', 'B', [10, 11], 'fail', busy);
    expect(resultOf(history, 'no-false-busy').verdict).toBe('held');
  });

  test('are violated when nobody can', () => {
    const history = start()
      .granted('A', [0, 5], 1n)
      .release('A', [6, 7])
      .op('acquire', 'B', [10, 11], 'fail', busy);
    expect(resultOf(history, 'no-false-busy').verdict).toBe('violated');
  });

  test('one lost acquire explains one gap only', () => {
    const history = start()
      .op('acquire', 'L', [0, 1], 'unknown')
      .op('acquire', 'B', [10, 11], 'fail', busy)
      .granted('C', [20, 21], 3n)
      .release('C', [22, 23]);
    expect(resultOf(history, 'no-false-busy').verdict).toBe('held');
    history.op('acquire', 'D', [30, 31], 'fail', busy);
    expect(resultOf(history, 'no-false-busy').verdict).toBe('violated');
  });

  test('an acquire that gave the lock back for want of replicas explains what met it', () => {
    const tooFew = { complete: { code: 'too-few-replicas' } };
    const history = start()
      .op('acquire', 'A', [0, 9], 'fail', tooFew)
      .op('acquire', 'B', [5, 6], 'fail', busy);
    expect(resultOf(history, 'no-false-busy').verdict).toBe('held');
    history.op('acquire', 'C', [10, 11], 'fail', busy);
    expect(resultOf(history, 'no-false-busy').verdict).toBe('violated');
  });

  test('are inconclusive after a lease that must have ended, and not exercised without refusals', () => {
    const late = start().granted('A', [0, 5], 1n).op('acquire', 'B', [1500, 1501], 'fail', busy);
    expect(resultOf(late, 'no-false-busy').verdict).toBe('inconclusive');
    expect(resultOf(start().granted('A', [0, 5], 1n), 'no-false-busy').verdict).toBe(
      'not-exercised',
    );
  });
});
