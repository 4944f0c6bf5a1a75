/**
 * The release race: a guarded release against an owner that loses the lock and another that takes
 * it, ten thousand times. Judged by one question, asked over a separate connection once all three
 * are done: is the new owner's record still there? To show that the question can be answered with
 * no, the same race is run with releases that are wrong, until they are caught.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LockDetail } from '../../src/domain/lock.ts';
import { seededRandom } from '../../src/domain/random.ts';
import type { ReleaseArena } from './arenas/arena.ts';

/** Locks that are fought over at the same time. */
const concurrency = 40;
/** A wrong release that was not caught in so many rounds makes the race worthless: the test fails. */
const naiveRounds = 4_000;
const seed = process.env.FENCEPOST_TEST_SEED ?? '20261202';

/** What a release says of itself; a wrong one says nothing. */
type Release = (seen: LockDetail) => Promise<string>;

interface Round {
  readonly outcome: string;
  /** The next owner's record was missing, or another's, at the end. */
  readonly foreign: boolean;
}

interface Tally {
  rounds: number;
  released: number;
  /** Changed hands, or already gone. */
  lost: number;
  foreign: number;
  /** Outcomes that this race must not have: refused, unknown … */
  readonly other: string[];
}

/** Registers the race of one layout. `rounds` are run and printed. */
export function describeReleaseRace(
  name: string,
  open: () => Promise<ReleaseArena>,
  rounds: number,
): void {
  describe(`releasing ${name} in a race`, () => {
    let opened: ReleaseArena | undefined;
    const arena = (): ReleaseArena => {
      if (opened === undefined) throw new Error('the arena is open only inside tests');
      return opened;
    };
    // Rounds of one file never share a lock.
    let used = 0;
    const race = async (of: number, release: Release, enough?: (tally: Tally) => boolean) => {
      const tally = await runRace(arena(), { first: used, rounds: of, release, enough });
      used += of;
      return tally;
    };

    beforeAll(async () => {
      opened = await open();
    });
    afterAll(async () => {
      await opened?.close();
    });

    test(`${rounds} rounds delete nobody else's lock`, async () => {
      const { backend } = arena();
      const tally = await race(rounds, async (seen) => {
        const result = await backend.release(seen, { timeoutMs: 10_000 }, never());
        return result.outcome;
      });
      tell(name, tally);
      expect(tally.other).toEqual([]);
      expect(tally.foreign).toBe(0);
      expect(tally.rounds).toBe(rounds);
      expect(tally.released).toBeGreaterThanOrEqual(rounds / 5);
      expect(tally.lost).toBeGreaterThanOrEqual(rounds / 5);
    }, 600_000);

    test('the same race catches every release that is known to be wrong', async () => {
      expect(arena().naive.length).toBeGreaterThan(0);
      for (const naive of arena().naive) {
        const tally = await race(
          naiveRounds,
          async (seen) => {
            await naive.release(seen);
            return 'released';
          },
          ({ foreign }) => foreign > 0,
        );
        tell(`${name}, by ${naive.title}`, tally);
        expect(tally.foreign, naive.title).toBeGreaterThan(0);
      }
    }, 600_000);
  });
}

function tell(name: string, tally: Tally): void {
  const { rounds, released, lost, foreign } = tally;
  process.stdout.write(
    `release race, ${name}: ${rounds} rounds, ${released} released, ${lost} changed hands or gone, ${foreign} foreign deletions (seed ${seed})\n`,
  );
}

interface Race {
  readonly first: number;
  readonly rounds: number;
  readonly release: Release;
  readonly enough: ((tally: Tally) => boolean) | undefined;
}

async function runRace(arena: ReleaseArena, race: Race): Promise<Tally> {
  const limit = pLimit(concurrency);
  const tally: Tally = { rounds: 0, released: 0, lost: 0, foreign: 0, other: [] };
  const pace = new Pace();
  const numbers = Array.from({ length: race.rounds }, (_, index) => race.first + index);
  await limit.map(numbers, async (round) => {
    if (race.enough?.(tally) === true) return;
    count(tally, await playRound(arena, round, race.release, pace));
  });
  return tally;
}

function count(tally: Tally, { outcome, foreign }: Round): void {
  tally.rounds += 1;
  if (foreign) tally.foreign += 1;
  if (outcome === 'released') tally.released += 1;
  else if (outcome === 'changed-hands' || outcome === 'already-gone') tally.lost += 1;
  else tally.other.push(outcome);
}

/**
 * How long a release takes here and now, and how long the loss waits for it. The actors start so
 * close to one another that they meet on a fast server and on a slow one, and that neither the
 * release nor the loss wins most of the time.
 */
class Pace {
  releaseMs = 2;
  /** The loss starts within this multiple of a release's time. */
  lossWithin = 1.5;

  /** Follows slowly: one stalled round must not pull all others apart. */
  add(tookMs: number, released: boolean): void {
    this.releaseMs += (Math.min(tookMs, this.releaseMs * 4) - this.releaseMs) / 50;
    const next = this.lossWithin * (released ? 0.97 : 1.03);
    this.lossWithin = Math.min(10, Math.max(0.5, next));
  }
}

/** Nobody interrupts a round. A signal of its own, because they gather listeners. */
function never(): AbortSignal {
  return new AbortController().signal;
}

async function playRound(
  arena: ReleaseArena,
  round: number,
  release: Release,
  pace: Pace,
): Promise<Round> {
  const random = seededRandom(seed, String(round));
  const [first, next] = [`first-owner-${round}`, `next-owner-${round}`];
  const ref = arena.ref(round);
  await arena.take(ref, first);
  const seen = await arena.backend.inspect(ref, never());
  if (seen === undefined) throw new Error(`${ref.name} is not there although it was taken`);
  // In a random order, at random distances: the release a little early, or the loss.
  const within = (ms: number): number => random() * ms;
  const starts = {
    release: within(pace.releaseMs),
    loss: within(pace.releaseMs * pace.lossWithin),
    take: within(pace.releaseMs),
  };
  const how = random() < 0.5 ? 'release' : 'expiry';
  const [outcome] = await Promise.all([
    delayed(starts.release, async () => {
      const begun = performance.now();
      const said = await release(seen);
      pace.add(performance.now() - begun, said === 'released');
      return said;
    }),
    delayed(starts.loss, () => arena.lose(ref, first, how)),
    delayed(starts.take, () => takeWhenFree(arena, round, next)),
  ]);
  return { outcome, foreign: (await arena.readOwner(ref)) !== next };
}

async function delayed<T>(ms: number, act: () => Promise<T>): Promise<T> {
  if (ms >= 1) await sleep(ms);
  return act();
}

async function takeWhenFree(arena: ReleaseArena, round: number, owner: string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await arena.tryTake(arena.ref(round), owner))) {
    if (performance.now() > deadline) throw new Error(`round ${round}: the lock never became free`);
  }
}
