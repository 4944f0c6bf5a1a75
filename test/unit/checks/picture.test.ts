import { describe, expect, test } from 'vitest';
import { buildIndex } from '../../../src/checks/build-index.ts';
import { judge } from '../../../src/checks/judge.ts';
import { drawPicture } from '../../../src/checks/picture.ts';
import type { RunPicture } from '../../../src/domain/run-picture.ts';
import { HistoryBuilder } from '../../helpers/history-builder.ts';

function draw(builder: HistoryBuilder, ...invariants: readonly string[]): RunPicture {
  const history = builder.build();
  const results = judge(
    history,
    invariants.map((name) => ({ name, options: {} })),
  );
  const violations = results.filter(({ verdict }) => verdict === 'violated');
  return drawPicture(buildIndex(history), violations);
}

/** A is paused past its lease, B takes over, and A's write comes late. */
const classic = (late: 'accepted' | 'refused') =>
  new HistoryBuilder()
    .granted('A', [0, 5], 1n)
    .observe(6, 'lock-state', { owner: 'A-owner', fence: 1n })
    .fault('pause', 'A', 10, 1300)
    .observe(1010, 'expiry', { owner: 'A-owner', fence: 1n, cause: 'expired' })
    .granted('B', [1100, 1105], 2n)
    .observe(1110, 'lock-state', { owner: 'B-owner', fence: 2n })
    .write('B', [1120, 1125], 2n, 'accepted')
    .lost('A', 1310)
    .write('A', [1320, 1325], 1n, late)
    .release('B', [1400, 1405]);

describe('the picture of a history', () => {
  const picture = draw(classic('refused'));
  const lane = (kind: string, title: string): number =>
    picture.lanes.findIndex((one) => one.kind === kind && one.title === title);

  test('has a lane for each worker, for the lock and for the resource', () => {
    expect(picture.lanes.map(({ kind }) => kind)).toEqual([
      'worker',
      'worker',
      'service',
      'resource',
    ]);
  });

  test('shows what was held, what was only believed, and what the service saw', () => {
    const bars = picture.bars.map(({ kind, lane: at, fromMs, toMs }) => [kind, at, fromMs, toMs]);
    expect(bars).toEqual([
      ['asked', lane('worker', 'A'), 0, 5],
      ['held', lane('worker', 'A'), 5, 1000],
      ['believed', lane('worker', 'A'), 1000, 1310],
      ['asked', lane('worker', 'B'), 1100, 1105],
      ['held', lane('worker', 'B'), 1105, 1400],
      ['record', lane('service', 'lock:o'), 6, 1010],
      ['record', lane('service', 'lock:o'), 1110, 1405],
    ]);
  });

  test('bars of one grant share a number, and show its fencing token', () => {
    const ofB = picture.bars.filter(({ text }) => text === '2');
    expect(ofB.map(({ kind, grant }) => [kind, grant])).toEqual([
      ['held', 1],
      ['record', 1],
    ]);
  });

  test('a fault lies over the worker it hit, with its evidence', () => {
    expect(picture.bands).toMatchObject([{ lane: lane('worker', 'A'), fromMs: 10, toMs: 1300 }]);
  });

  test('marks what the resource refused, and how each record ended', () => {
    const told = picture.marks.map(({ lane: at, tone, text }) => [at, tone, text]);
    expect(told).toContainEqual([lane('resource', 'orders'), 'refused', '1 refused']);
    expect(told).toContainEqual([lane('service', 'lock:o'), 'gone', 'expired']);
    expect(picture.arrows).toEqual([]);
    expect(picture.leftOut).toEqual([]);
  });

  test('an arrow joins the two events that show a violation, for all invariants they show', () => {
    const { arrows, lanes } = draw(
      classic('accepted'),
      'no-stale-write-accepted',
      'order-closed-once',
    );
    const resource = lanes.findIndex(({ kind }) => kind === 'resource');
    expect(arrows).toMatchObject([
      {
        from: { lane: resource, atMs: 1125 },
        to: { lane: resource, atMs: 1325 },
        text: 'no-stale-write-accepted, order-closed-once',
      },
    ]);
  });

  test('of thousands of operations the telling ones are marked, and the rest is counted', () => {
    const long = new HistoryBuilder().granted('A', [0, 5], 1n, 10_000_000);
    for (let at = 10; at < 3000; at += 1) {
      long.op('renew', 'A', [at, at + 0.5], at === 2900 ? 'unknown' : 'ok');
    }
    const { marks, leftOut } = draw(long);
    expect(marks).toHaveLength(1500);
    expect(marks.map(({ tone }) => tone)).toContain('unknown');
    expect(leftOut).toEqual([
      '1500 of 2991 operations are marked: refused, unknown and lost ones first',
    ]);
  });
});
