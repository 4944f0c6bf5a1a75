/** Every check, in the order of the output, and finding them by id. */
import { UsageError } from '../domain/errors.ts';
import { nearestName } from '../domain/nearest.ts';
import type { Check } from './check.ts';
import { openAccess, readOnlyAccount } from './redis/access.ts';
import { persistence, replicasToWrite } from './redis/durability.ts';
import { immortalLocks, longTtl } from './redis/locks.ts';
import { evictedKeys, evictionPolicy, memoryHeadroom, sharedInstance } from './redis/memory.ts';
import { forkTime, idleConnections, slowCommands } from './redis/pauses.ts';
import { lockRole, supportedVersion } from './redis/server.ts';

/** By id. Ids are never reused. */
export const redisChecks: readonly Check[] = [
  immortalLocks,
  longTtl,
  evictionPolicy,
  memoryHeadroom,
  evictedKeys,
  lockRole,
  replicasToWrite,
  persistence,
  slowCommands,
  forkTime,
  openAccess,
  idleConnections,
  supportedVersion,
  sharedInstance,
  readOnlyAccount,
];

/** @throws {UsageError} `unknown-check` */
export function findCheck(id: string): Check {
  const found = redisChecks.find((check) => check.id === id.toUpperCase());
  if (found !== undefined) return found;
  const near = nearestName(
    id,
    redisChecks.map((check) => check.id),
  );
  throw new UsageError(`there is no check "${id}"`, {
    code: 'unknown-check',
    hint: `${near === undefined ? '' : `did you mean ${near}? `}\`fencepost audit --list\` lists them`,
    definite: true,
  });
}

/**
 * The checks to run, in the order of the registry.
 * @throws {UsageError} an unknown id, or nothing left to check
 */
export function selectChecks(
  wanted: readonly string[] | undefined,
  skipped: readonly string[],
): readonly Check[] {
  const [only, without] = [wanted?.map(findCheck), skipped.map(findCheck)];
  const chosen = redisChecks.filter(
    (check) => (only === undefined || only.includes(check)) && !without.includes(check),
  );
  if (chosen.length > 0) return chosen;
  throw new UsageError('no check is left', {
    code: 'no-checks',
    hint: 'skip fewer of them',
    definite: true,
  });
}
