/** What a release race counts, how often its dangerous moments must have come, and how it is told. */
import type { ReleaseResult } from '../../src/domain/release.ts';

export interface Tally {
  rounds: number;
  /** Rounds in which the next owner's record has the name of the first one's. */
  reusedNames: number;
  /** The release was first. */
  released: number;
  /** The record was gone, and the next owner's not there yet. */
  gone: number;
  /** The next owner's record was there when the release acted. */
  changedHands: number;
  /** Gone or changed between the release's own last look and its write: the server said no. */
  refusedByServer: number;
  /** Of these, the ones in which the next owner's record was there: nothing else saved it. */
  savedByServer: number;
  /** The next owner's record was missing, or another's, at the end. */
  foreign: number;
  /** It was there, but its data were not its owner's. */
  altered: number;
  /** What this race must not bring: refusals, unknown outcomes … */
  readonly other: ReleaseResult[];
}

export interface Quota {
  readonly what: string;
  readonly of: number;
  readonly least: number;
}

/** Without these moments a race proves nothing, whatever it did not find. */
export function quotas(tally: Tally): readonly Quota[] {
  const { rounds, reusedNames, released, gone, changedHands, refusedByServer, savedByServer } =
    tally;
  return [
    { what: 'rounds won by the release', of: released, least: rounds / 5 },
    { what: 'rounds lost by the release', of: gone + changedHands, least: rounds / 5 },
    { what: 'rounds refused by the server itself', of: refusedByServer, least: rounds / 20 },
    { what: 'takeovers before the release', of: changedHands, least: reusedNames / 20 },
    { what: 'takeovers between look and write', of: savedByServer, least: reusedNames / 200 },
  ];
}

export function tellRace(name: string, tally: Tally, seed: string): void {
  const { rounds, released, gone, changedHands, refusedByServer, savedByServer, foreign, altered } =
    tally;
  print(
    `${name}: ${rounds} rounds, ${released} released, ${gone} gone, ${changedHands} taken over; ` +
      `${refusedByServer} refused by the server's own comparison, ${savedByServer} of them taken over; ` +
      `${foreign} foreign deletions, ${altered} altered (seed ${seed})`,
  );
}

export function tellNaive(name: string, title: string, tally: Tally, seed: string): void {
  print(
    `${name}, by ${title}: caught ${tally.foreign} times in ${tally.rounds} rounds (seed ${seed})`,
  );
}

function print(words: string): void {
  process.stdout.write(`release race, ${words}\n`);
}
