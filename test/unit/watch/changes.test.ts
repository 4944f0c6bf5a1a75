import { describe, expect, test } from 'vitest';
import { changeSentence } from '../../../src/watch/change-words.ts';
import { compareLooks, type Change } from '../../../src/watch/changes.ts';
import { nothingSeen, type Observation } from '../../../src/watch/observation.ts';
import { lockOf, lookAt, type LockFacts } from '../../helpers/looks.ts';

/** Changes of every look after the first. */
function changesOver(first: Observation, ...looks: readonly Observation[]): readonly Change[] {
  let { memory } = compareLooks(nothingSeen, first);
  return looks.flatMap((look) => {
    const step = compareLooks(memory, look);
    memory = step.memory;
    return step.changes;
  });
}

/** What is said of one lock that looks like this, then like that, one look a second. */
function saidOf(...sights: readonly (LockFacts | 'gone')[]): readonly string[] {
  const [first, ...more] = sights.map((facts, at) =>
    lookAt(at * 1000, facts === 'gone' ? [] : [lockOf(facts)]),
  );
  if (first === undefined) return [];
  return changesOver(first, ...more).map(changeSentence);
}

/** A lease of 30 s that goes on without a renewal. */
const later = (seconds: number): LockFacts => ({ ttlMs: 30_123 - seconds * 1000 });

describe('the first look', () => {
  test('tells every lock as it is, and takes nothing for a change', () => {
    const look = lookAt(0, [
      lockOf({ owners: ['A'], fence: 7n }),
      lockOf({ name: 'b', owners: [] }),
    ]);
    const { changes } = compareLooks(nothingSeen, look);
    expect(changes.map((one) => one.kind)).toEqual(['seen', 'seen']);
    expect(changes.map(changeSentence)).toEqual(['held by A, fence 7', 'free']);
  });

  test('warns of a lock without a TTL and of one near its end', () => {
    const look = lookAt(0, [
      lockOf({ ttlMs: 'never', state: 'no-ttl' }),
      lockOf({ name: 'b', ttlMs: 9_500, grantedMs: 30_000 }),
    ]);
    const { changes } = compareLooks(nothingSeen, look);
    expect(changes.map(changeSentence)).toEqual([
      'no-ttl by A',
      'no TTL, held by A: it will never free itself',
      'held by A',
      'TTL near its end: 9.5s left of 30s',
    ]);
  });
});

describe('holders', () => {
  test('nothing is said of a lock that did not change', () => {
    expect(saidOf({ fence: 7n }, { ...later(1), fence: 7n }, { ...later(2), fence: 7n })).toEqual(
      [],
    );
  });

  test('a lock that had nobody, or was not there, was taken', () => {
    expect(saidOf({ owners: [] }, { owners: ['A'], fence: 8n })).toEqual(['taken by A, fence 8']);
    expect(saidOf('gone', { owners: ['A'] })).toEqual(['taken by A']);
  });

  test('a hand-over names both owners, both fences, and that the lease cannot have run out', () => {
    expect(saidOf({ fence: 7n }, { owners: ['B'], fence: 8n })).toEqual([
      'handed over from A to B, fence 7 → 8; released or deleted before its lease ended',
    ]);
  });

  test('a hold whose time was up may have run out', () => {
    expect(saidOf({ ttlMs: 900 }, { owners: ['B'] })).toEqual([
      'handed over from A to B; released, or its lease ended',
    ]);
    expect(saidOf({ ttlMs: 900 }, 'gone')).toEqual(['freed by A; released, or its lease ended']);
  });

  test('of a session nobody can tell how its hold ended', () => {
    expect(saidOf({ ttlMs: 'session' }, { owners: [] })).toEqual(['freed by A']);
  });

  test('the same owner with a higher fence took it again', () => {
    expect(saidOf({ fence: 7n }, { fence: 9n })).toContain('taken again by A, fence 7 → 9');
  });

  test('holders that share a lock come and go one by one', () => {
    const shared = { mode: 'shared', ttlMs: 'session' } as const;
    expect(saidOf({ ...shared, owners: ['A', 'B'] }, { ...shared, owners: ['B', 'C'] })).toEqual([
      'freed by A',
      'taken by C',
    ]);
  });

  test('unknown holders are neither gone nor new', () => {
    expect(saidOf({}, { ...later(1), owners: undefined }, later(2))).toEqual([]);
  });

  test('a lock that an incomplete look missed may still be there', () => {
    const missed = lookAt(1000, [], { complete: false });
    expect(changesOver(lookAt(0, [lockOf({})]), missed)).toEqual([]);
    const back = lookAt(2000, [lockOf(later(2))]);
    expect(changesOver(lookAt(0, [lockOf({})]), missed, back)).toEqual([]);
  });

  test('two layouts under one name are two locks', () => {
    const plain = lockOf({ ttlMs: 'session' });
    const recognition = { ...plain.recognition, convention: 'other' };
    const other = { ...lockOf({ owners: ['B'], ttlMs: 'session' }), recognition };
    expect(changesOver(lookAt(0, [plain, other]), lookAt(1000, [other, plain]))).toEqual([]);
  });
});

describe('renewals', () => {
  test('a deadline that moved is a renewal, with the lowest TTL seen before it', () => {
    expect(saidOf({}, later(9), later(10), {})).toEqual(['renewed to 30s from 20s']);
  });

  test('the second renewal tells how often they come', () => {
    const looks = [0, 5, 10, 15, 20].map((s) =>
      lookAt(s * 1000, [lockOf({ ttlMs: 30_123 - (s % 10) * 1000 })]),
    );
    expect(changesOver(looks[0] ?? lookAt(0, []), ...looks.slice(1)).map(changeSentence)).toEqual([
      'renewed to 30s from 25s',
      'renewed to 30s from 25s, 10s after the last',
    ]);
  });

  test('a lease counted in whole seconds is not renewed by its rounding', () => {
    expect(saidOf({ ttlMs: 10_000 }, { ttlMs: 10_000 }, { ttlMs: 8_000 })).toEqual([]);
  });

  test('one that stays away longer than half again the usual time is missed, once', () => {
    const at = (s: number, ttlMs: number): Observation => lookAt(s * 1000, [lockOf({ ttlMs })]);
    const renewed = [at(0, 30_123), at(10, 30_123), at(20, 30_123), at(30, 30_123)];
    const silent = [14, 15, 16, 17].map((s) => at(30 + s, 30_123 - s * 1000));
    const said = changesOver(at(-10, 30_123), ...renewed, ...silent).map(changeSentence);
    expect(said.slice(4)).toEqual(['renewal missed: none for 16s, usual every 10s; 14s left']);
  });

  test('a lease without a renewal is told when two thirds of it are gone, once', () => {
    expect(saidOf({}, later(1), later(21), later(22), later(23)).length).toBe(1);
    expect(saidOf({}, later(21))).toEqual(['TTL near its end: 9.1s left of 30s']);
  });
});

describe('fences', () => {
  test('one that fell is told once; the next grants are judged by it', () => {
    expect(
      saidOf({ fence: 42n }, { owners: ['B'], fence: 5n }, { owners: ['B'], fence: 5n }),
    ).toContain('fence fell from 42 of A to 5 of B: a resource may accept an old holder');
    expect(
      saidOf({ fence: 42n }, { owners: ['B'], fence: 5n }, { owners: ['C'], fence: 6n }).filter(
        (sentence) => sentence.startsWith('fence'),
      ),
    ).toHaveLength(1);
  });

  test('one that fell while the lock was gone is told too', () => {
    expect(saidOf({ fence: 42n }, 'gone', { owners: ['B'], fence: 41n })).toContain(
      'fence fell from 42 of A to 41 of B: a resource may accept an old holder',
    );
  });

  test('the same one under another owner is told', () => {
    expect(
      saidOf({ fence: 42n }, { owners: [], fence: 42n }, { owners: ['B'], fence: 42n }),
    ).toContain('fence 42 of A came again with B: a resource cannot tell the two apart');
  });

  test('a gap is no fault, a jump of a counter is', () => {
    expect(saidOf({ fence: 42n }, { owners: ['B'], fence: 900n })).toHaveLength(1);
    expect(saidOf({ fence: 42n }, { owners: ['B'], fence: 1_000_000n })).toContain(
      'fence jumped from 42 to 1000000 of B: more grants than there was time for',
    );
  });

  test('a revision counts other records too: it may rise by any amount', () => {
    const source = 'create-revision';
    expect(
      saidOf({ fence: 42n, source }, { owners: ['B'], fence: 1_000_000n, source }),
    ).toHaveLength(1);
  });
});

describe('queues and states', () => {
  test('a queue that grew names who came, one that shrank who gave up', () => {
    expect(saidOf({ waiters: ['B'] }, { ...later(1), waiters: ['B', 'C'] })).toEqual([
      '1 → 2 waiting, came: C',
    ]);
    expect(saidOf({ waiters: ['B', 'C'] }, { ...later(1), waiters: ['B'] })).toEqual([
      '2 → 1 waiting, gave up: C',
    ]);
  });

  test('a waiter that got the lock did not give up', () => {
    expect(
      saidOf({ ttlMs: 'session', waiters: ['B'] }, { ttlMs: 'session', owners: ['B'] }),
    ).toEqual(['handed over from A to B', '1 → 0 waiting']);
  });

  test('a lock whose TTL was taken away is told, and so is another state', () => {
    expect(saidOf({}, { ttlMs: 'never', state: 'no-ttl' })).toEqual([
      'no TTL, held by A: it will never free itself',
    ]);
    expect(saidOf({}, { ...later(1), state: 'split' })).toEqual(['was held, is split']);
  });
});

describe('a gap', () => {
  test('is told first, and what changed meanwhile says that nobody looked', () => {
    const after = lookAt(9000, [lockOf({ owners: ['B'], ttlMs: 'session' })], {
      gap: { sinceMs: 1000, reason: 'connection refused' },
    });
    expect(
      changesOver(lookAt(0, [lockOf({ ttlMs: 'session' })]), after).map(changeSentence),
    ).toEqual([
      'not watched for 8s: connection refused',
      'handed over from A to B (while nobody looked)',
    ]);
  });

  test('no renewal is missed by a cadence that was learnt before it', () => {
    const at = (s: number, ttlMs: number, gap = false): Observation =>
      lookAt(s * 1000, [lockOf({ ttlMs })], gap ? { gap: { sinceMs: 0, reason: 'x' } } : {});
    const said = changesOver(
      at(0, 30_123),
      ...[10, 20, 30].map((s) => at(s, 30_123)),
      at(47, 30_123 - 17_000, true),
    );
    expect(said.map((one) => one.kind)).not.toContain('renewal-missed');
  });
});

test('tokens of locks that are gone are remembered, but not without end', () => {
  const many = Array.from({ length: 10_050 }, (_, at) => lockOf({ name: `l${at}`, fence: 1n }));
  const first = compareLooks(nothingSeen, lookAt(0, many));
  const { memory } = compareLooks(first.memory, lookAt(1000, []));
  expect(memory.tracks.size).toBe(0);
  expect(memory.gone.size).toBe(10_000);
});
