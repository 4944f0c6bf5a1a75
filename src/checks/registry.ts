/** The shipped invariants, by name: an explicit list. A new checker is one file and one line here. */
import { UsageError } from '../domain/errors.ts';
import { nearestName } from '../domain/nearest.ts';
import type { InvariantSpec } from '../domain/scenario.ts';
import type { Checker } from './checker.ts';
import { noEffectWithoutGrant } from './effect-without-grant.ts';
import { effectAtMostOnce, orderClosedOnce, stockReleasedOnce } from './effects.ts';
import { noFalseBusy } from './false-busy.ts';
import { fairness } from './fairness.ts';
import { fenceStrictlyGrows } from './fence-strictly-grows.ts';
import { noForeignRelease } from './foreign-release.ts';
import { noForeignRenewal } from './foreign-renewal.ts';
import { holdCount } from './hold-count.ts';
import { noWorkAfterKnownLoss } from './known-loss.ts';
import { mutualExclusion } from './mutual-exclusion.ts';
import { paidOrderNeverClosed } from './paid-order.ts';
import { progress } from './progress.ts';
import { staleCheckpointRefused } from './stale-checkpoint.ts';
import { noStaleWriteAccepted } from './stale-write.ts';
import { takeover } from './takeover.ts';

export const checkers: readonly Checker[] = [
  mutualExclusion,
  fenceStrictlyGrows,
  noStaleWriteAccepted,
  noForeignRelease,
  noForeignRenewal,
  effectAtMostOnce,
  orderClosedOnce,
  stockReleasedOnce,
  paidOrderNeverClosed,
  staleCheckpointRefused,
  noEffectWithoutGrant,
  noWorkAfterKnownLoss,
  takeover,
  progress,
  noFalseBusy,
  holdCount,
  fairness,
];

const byName: ReadonlyMap<string, Checker> = new Map(
  checkers.map((checker) => [checker.name, checker]),
);

/** The checker of that name, or undefined (a scenario's own SQL or command invariant). */
export function findChecker(name: string): Checker | undefined {
  return byName.get(name);
}

/** Every name that may be written, levels included: `mutual-exclusion:effect`. */
export function invariantNames(): readonly string[] {
  return checkers.flatMap(({ name, levels }) =>
    levels === undefined ? [name] : levels.map((level) => `${name}:${level}`),
  );
}

/** Levels of each invariant, by name; empty where it has none. What a scenario may ask for. */
export const invariantLevels: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  checkers.map(({ name, levels }) => [name, levels ?? []]),
);

/**
 * Reads `NAME` or `NAME:LEVEL`.
 * @throws {UsageError} `unknown-invariant`, with the nearest name
 */
export function parseInvariant(text: string): InvariantSpec {
  const [name = '', level] = text.split(':', 2);
  const checker = byName.get(name);
  const levels = checker?.levels ?? [];
  if (checker === undefined || (level !== undefined && !levels.includes(level))) {
    const near = nearestName(text, [...byName.keys(), ...invariantNames()]);
    throw new UsageError(`unknown invariant "${text}"`, {
      code: 'unknown-invariant',
      hint:
        near === undefined ? `known: ${invariantNames().join(', ')}` : `did you mean "${near}"?`,
      definite: true,
    });
  }
  const chosen = level ?? levels[0];
  return { name, ...(chosen === undefined ? {} : { level: chosen }), options: {} };
}

/** What `check` judges when nothing is named: everything but what must be asked for. */
export function defaultInvariants(): readonly InvariantSpec[] {
  return checkers
    .filter(({ onRequest }) => onRequest !== true)
    .flatMap(({ name, levels }) =>
      levels === undefined
        ? [{ name, options: {} }]
        : levels
            .filter((level) => level !== 'belief')
            .map((level) => ({ name, level, options: {} })),
    );
}
