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
import type { ReleaseResult } from '../../src/domain/release.ts';
import type { ReleaseArena, Round } from './arenas/arena.ts';
import { quotas, tellNaive, tellRace, type Tally } from './race-tally.ts';

/** Locks that are fought over at the same time. */
const concurrency = 40;
/** A wrong release must be caught so often … */
const wantedCatches = 5;
/** … in so many rounds, or the race is worth nothing and the test fails. */
const naiveRounds = 4_000;
const seed = process.env.FENCEPOST_TEST_SEED ?? '20261202';

/** Undefined: a wrong release says nothing of itself. */
type Release = (seen: LockDetail) => Promise<ReleaseResult | undefined>;

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
      const tally = await race(rounds, (seen) =>
        backend.release(seen, { timeoutMs: 10_000 }, never()),
      );
      tellRace(name, tally, seed);
      expect(tally.other.slice(0, 3)).toEqual([]);
      expect(tally.foreign).toBe(0);
      expect(tally.rounds).toBe(rounds);
      for (const { what, of, least } of quotas(tally)) {
        expect(of, what).toBeGreaterThanOrEqual(least);
      }
    }, 1_200_000);

    test('the same race catches every release that is known to be wrong', async () => {
      expect(arena().naive.length).toBeGreaterThan(0);
      for (const naive of arena().naive) {
        const tally = await race(
          naiveRounds,
          async (seen) => {
            await naive.release(seen);
            return undefined;
          },
          ({ foreign }) => foreign >= wantedCatches,
        );
        tellNaive(name, naive.title, tally, seed);
        expect(tally.foreign, naive.title).toBeGreaterThanOrEqual(wantedCatches);
      }
    }, 1_200_000);
  });
}

interface Race {
  readonly first: number;
  readonly rounds: number;
  readonly release: Release;
  readonly enough: ((tally: Tally) => boolean) | undefined;
}

async function runRace(arena: ReleaseArena, race: Race): Promise<Tally> {
  const limit = pLimit(concurrency);
  const tally: Tally = {
    rounds: 0,
    reusedNames: 0,
    released: 0,
    gone: 0,
    changedHands: 0,
    refusedByServer: 0,
    savedByServer: 0,
    foreign: 0,
    altered: 0,
    other: [],
  };
  const paces = new Map<string, Pace>();
  const numbers = Array.from({ length: race.rounds }, (_, index) => race.first + index);
  await limit.map(numbers, async (number) => {
    if (race.enough?.(tally) === true) return;
    const random = seededRandom(seed, String(number));
    const of = { number, ends: random() < 0.5 ? 'release' : 'expiry' } as const;
    const reusesName = arena.reusesName(of);
    // A loss takes its time, which depends on how it comes; so does seeing it.
    const kind = `${of.ends} ${reusesName}`;
    const pace = paces.get(kind) ?? new Pace(reusesName);
    paces.set(kind, pace);
    const { said, foreign, altered } = await playRound(arena, of, race.release, pace, random);
    tally.rounds += 1;
    if (reusesName) tally.reusedNames += 1;
    if (foreign) tally.foreign += 1;
    if (altered) tally.altered += 1;
    if (said !== undefined) count(tally, said, meaningOf(said, arena));
  });
  return tally;
}

type Meaning = 'released' | 'gone' | 'taken' | 'other';

function meaningOf(said: ReleaseResult, { refusesWhenTaken }: ReleaseArena): Meaning {
  switch (said.outcome) {
    case 'released':
      return 'released';
    case 'already-gone':
      return 'gone';
    case 'changed-hands':
      return 'taken';
    case 'refused':
      return refusesWhenTaken?.test(said.reason) === true ? 'taken' : 'other';
    case 'unknown':
    case 'foreign-removed':
      return 'other';
  }
}

function count(tally: Tally, said: ReleaseResult, meaning: Meaning): void {
  const compared = said.reply !== 'nothing was sent';
  if (meaning === 'released') tally.released += 1;
  if (meaning === 'gone') tally.gone += 1;
  if (meaning === 'taken') tally.changedHands += 1;
  if (meaning === 'other') tally.other.push(said);
  if (compared && (meaning === 'gone' || meaning === 'taken')) tally.refusedByServer += 1;
  if (compared && meaning === 'taken') tally.savedByServer += 1;
}

/**
 * How long a release takes here and now, and how long it waits for the loss. That is steered by what
 * releases find, so that they are first about as often as they meet the next owner's record, on a
 * fast server and on a slow one. A wrong release does not say what it found: it waits at random.
 */
class Pace {
  releaseMs = 2;
  readonly #gone: number;
  #lead = 0;
  #steered = false;

  constructor(reusesName: boolean) {
    // Gone is not late enough where the next owner's record can be seen.
    this.#gone = reusesName ? -0.006 : -0.03;
  }

  /** By how much of its own time the release starts after the loss; negative: before. */
  lead(random: () => number): number {
    return this.#steered ? this.#lead : random() * 8 - 1;
  }

  /** Follows slowly: one stalled round must not pull all others apart. */
  add(tookMs: number, found: Meaning | undefined): void {
    this.releaseMs += (Math.min(tookMs, this.releaseMs * 4) - this.releaseMs) / 50;
    if (found === undefined) return;
    this.#steered = true;
    const step = { released: 0.03, gone: this.#gone, taken: -0.03, other: 0 }[found];
    this.#lead = Math.min(10, Math.max(-10, this.#lead + step));
  }
}

/** Nobody interrupts a round. A signal of its own, because they gather listeners. */
function never(): AbortSignal {
  return new AbortController().signal;
}

interface Ended {
  readonly said: ReleaseResult | undefined;
  /** The next owner's record was missing, or another's, at the end. */
  readonly foreign: boolean;
  readonly altered: boolean;
}

async function playRound(
  arena: ReleaseArena,
  of: Round,
  release: Release,
  pace: Pace,
  random: () => number,
): Promise<Ended> {
  const [first, next] = [`first-owner-${of.number}`, `next-owner-${of.number}`];
  const ref = arena.ref(of.number);
  await arena.take(ref, first, of);
  const seen = await arena.backend.inspect(ref, never());
  if (seen === undefined) throw new Error(`${ref.name} is not there although it was taken`);
  const { releaseMs } = pace;
  const lead = pace.lead(random);
  const within = (ms: number): number => random() * ms;
  const loss = within(releaseMs) + releaseMs * Math.max(0, -lead);
  const [said] = await Promise.all([
    delayed(within(releaseMs) + releaseMs * Math.max(0, lead), async () => {
      const begun = performance.now();
      const answer = await release(seen);
      pace.add(performance.now() - begun, answer && meaningOf(answer, arena));
      return answer;
    }),
    delayed(loss, () => arena.lose(ref, first, of)),
    // A little earlier, so that an attempt is under way when the lock becomes free.
    delayed(loss - within(releaseMs / 2), () => arena.takeNext(ref, next)),
  ]);
  const record = await arena.readRecord(ref);
  return { said, foreign: record?.owner !== next, altered: record?.intact === false };
}

async function delayed<T>(ms: number, act: () => Promise<T>): Promise<T> {
  if (ms >= 1) await sleep(ms);
  return act();
}
