import { describe, expect, test } from 'vitest';
import { stringToText } from '../../../src/domain/text.ts';
import { LockTrack, type Look } from '../../../src/protocols/redis-observer.ts';

const a = stringToText('a');
const b = stringToText('b');

function track(...looks: readonly Look[]): LockTrack {
  const lock = new LockTrack();
  for (const look of looks) lock.add(look);
  return lock;
}
const held = (atMs: number, ttlMs: number | undefined, owner = a): Look => ({
  atMs,
  owner,
  ttlMs,
  leaseMs: undefined,
});
const absent = (atMs: number): Look => ({
  atMs,
  owner: undefined,
  ttlMs: undefined,
  leaseMs: undefined,
});

describe('how a hold ended, from looks at the record', () => {
  test('expired needs a falling TTL and an end after the deadline', () => {
    expect(track(held(0, 500), held(300, 200), absent(510)).end(a).cause).toBe('expired');
    expect(track(held(0, 500), held(300, 200), held(510, 400, b)).end(a).cause).toBe('expired');
  });

  test('one look alone does not show that the TTL fell', () => {
    expect(track(held(0, 500), absent(510)).end(a).cause).toBe('unknown');
  });

  test('one look does, where the record says how long the lease was', () => {
    const look = { ...held(10, 490), leaseMs: 500 };
    expect(track(look, absent(510)).end(a).cause).toBe('expired');
    expect(track({ ...look, ttlMs: 500 }, absent(520)).end(a).cause).toBe('unknown');
  });

  test('gone before its deadline is removed early, whoever follows', () => {
    expect(track(held(0, 500), held(300, 200), absent(499)).end(a).cause).toBe('removed-early');
    expect(track(held(0, 500), held(1, 499), held(2, 500, b)).end(a).cause).toBe('removed-early');
  });

  test('a renewal moves the deadline', () => {
    const looks = [held(0, 500), held(300, 200), held(400, 500), absent(700)];
    expect(track(...looks).end(a).cause).toBe('removed-early');
  });

  test('a record without a TTL cannot have expired', () => {
    expect(track(held(0, undefined), absent(10_000)).end(a).cause).toBe('removed-early');
  });

  test('nothing is said of an owner never seen, or still there', () => {
    expect(track(absent(0)).end(a).cause).toBe('unknown');
    expect(track(held(0, 500)).end(a).cause).toBe('unknown');
  });
});
