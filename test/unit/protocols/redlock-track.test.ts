import { describe, expect, test } from 'vitest';
import { stringToText } from '../../../src/domain/text.ts';
import { RedlockTrack } from '../../../src/protocols/redlock-track.ts';

const owner = stringToText('a');
/** Clocks of the five servers, hours apart. */
const clocks = [0, 1, 2, 3, 4].map((server) => server * 3_600_000);

/** Two looks at a falling TTL of 500 ms on each of `servers`, then gone at `goneMs` each. */
function heldUntil(servers: readonly number[], goneMs: readonly (number | undefined)[]) {
  const track = new RedlockTrack(5, 3);
  const look = (server: number, atMs: number, ttlMs: number | undefined) => {
    const shown = ttlMs === undefined ? undefined : owner;
    const clock = clocks[server] ?? 0;
    track.add(server, { atMs: clock + atMs, owner: shown, ttlMs, leaseMs: undefined });
  };
  for (const server of servers) {
    look(server, 0, 500);
    look(server, 300, 200);
  }
  goneMs.forEach((atMs, at) => {
    if (atMs !== undefined) look(servers[at] ?? 0, atMs, undefined);
  });
  return track.end(owner);
}

describe('how a hold on several servers ended', () => {
  test('expired where each ran out by its own clock, whatever the others show', () => {
    expect(heldUntil([0, 1, 2, 3, 4], [510, 501, 500, 505, 520])).toMatchObject({
      cause: 'expired',
      witness: expect.stringMatching(/^on 5 of 5 servers: /) as unknown,
    });
  });

  test('expired as soon as too few are left, though the rest still has it', () => {
    expect(heldUntil([0, 1, 2, 3, 4], [501, 501, 501]).cause).toBe('expired');
    expect(heldUntil([0, 1, 2], [501]).cause).toBe('expired');
  });

  test('removed early when early removals alone left no majority', () => {
    expect(heldUntil([0, 1, 2, 3, 4], [400, 400, 400, 505, 505]).cause).toBe('removed-early');
    expect(heldUntil([0, 1, 2], [505, 400, 505]).cause).toBe('removed-early');
  });

  test('one early removal of five does not end the hold', () => {
    expect(heldUntil([0, 1, 2, 3, 4], [400, 505, 505, 505, 505]).cause).toBe('expired');
  });

  test('unknown while a majority has it, and of an owner never seen', () => {
    expect(heldUntil([0, 1, 2, 3, 4], [501, 501]).cause).toBe('unknown');
    expect(heldUntil([], []).cause).toBe('unknown');
  });
});
