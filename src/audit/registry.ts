/** Every check, in the order of the output, and finding them by id. */
import { UsageError } from '../domain/errors.ts';
import { nearestName } from '../domain/nearest.ts';
import type { CheckDescription, Judgement } from '../domain/audit-report.ts';
import type { FactsOf, ServerKind } from '../domain/server-facts.ts';
import type { AuditFacts, Check, EtcdCheck, Limits, RedisCheck } from './check.ts';
import { readOnlyAccount } from './any.ts';
import { fenceInUse, openCluster, wideRoles } from './etcd/access.ts';
import { immortalKeys, leaseLength, sharedLeases } from './etcd/leases.ts';
import {
  clusterSize,
  leaderChanges,
  leaseLists,
  oneLeader,
  supportedVersions,
} from './etcd/members.ts';
import { alarms, applyLag, databaseSize, diskLatency, keptHistory } from './etcd/storage.ts';
import { openAccess } from './redis/access.ts';
import { persistence, replicasToWrite } from './redis/durability.ts';
import { immortalLocks, longTtl } from './redis/locks.ts';
import { evictedKeys, evictionPolicy, memoryHeadroom, sharedInstance } from './redis/memory.ts';
import { forkTime, idleConnections, slowCommands } from './redis/pauses.ts';
import { lockRole, supportedVersion } from './redis/server.ts';

/** A check with the kinds of service that it is about. */
export interface RegisteredCheck extends CheckDescription {
  readonly kinds: readonly ServerKind[];
  /** Undefined: is not about this kind of service. */
  judge(facts: AuditFacts, limits: Limits): Judgement | undefined;
}

const kinds: readonly ServerKind[] = ['redis', 'etcd'];

/** Ids are never reused. */
const redisChecks: readonly RedisCheck[] = [
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
];

const etcdChecks: readonly EtcdCheck[] = [
  clusterSize,
  oneLeader,
  leaderChanges,
  diskLatency,
  databaseSize,
  alarms,
  immortalKeys,
  leaseLength,
  sharedLeases,
  leaseLists,
  openCluster,
  wideRoles,
  applyLag,
  supportedVersions,
  keptHistory,
  fenceInUse,
];

const anyChecks: readonly Check[] = [readOnlyAccount];

/** In the order of the output. */
export const allChecks: readonly RegisteredCheck[] = [
  ...about('redis', redisChecks),
  ...about('etcd', etcdChecks),
  ...anyChecks.map((check) => ({ ...check, kinds })),
];

export function checksOf(kind: ServerKind): readonly RegisteredCheck[] {
  return allChecks.filter((check) => check.kinds.includes(kind));
}

function about<K extends ServerKind>(
  kind: K,
  checks: readonly Check<FactsOf<K>>[],
): readonly RegisteredCheck[] {
  return checks.map((check) => ({
    ...check,
    kinds: [kind],
    judge: (facts, limits) => (isOf(facts, kind) ? check.judge(facts, limits) : undefined),
  }));
}

function isOf<K extends ServerKind>(facts: AuditFacts, kind: K): facts is AuditFacts<FactsOf<K>> {
  return facts.server.kind === kind;
}

/** @throws {UsageError} `unknown-check` */
export function findCheck(id: string): RegisteredCheck {
  const found = allChecks.find((check) => check.id === id.toUpperCase());
  if (found !== undefined) return found;
  const near = nearestName(
    id,
    allChecks.map((check) => check.id),
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
): readonly RegisteredCheck[] {
  const [only, without] = [wanted?.map(findCheck), skipped.map(findCheck)];
  const chosen = allChecks.filter(
    (check) => (only === undefined || only.includes(check)) && !without.includes(check),
  );
  if (chosen.length > 0) return chosen;
  throw new UsageError('no check is left', {
    code: 'no-checks',
    hint: 'skip fewer of them',
    definite: true,
  });
}
