/** Every guard, in the order in which a plan shows them. */
import type { Guard, GuardInput } from '../guard.ts';
import {
  blastRadius,
  formatRecognised,
  nextInLine,
  ownerDistinct,
  sameGrant,
  singleHold,
} from './lock.ts';
import {
  auditWritable,
  fenceRaised,
  nameConfirmed,
  notAgain,
  notMany,
  ownerAsked,
  resourceTold,
  sessionEnds,
} from './operator.ts';
import { expiresSoon, noRenewal, ownerGone, stuckThread } from './owner.ts';
import {
  accountMayRelease,
  clockUnused,
  clusterHealthy,
  rightCluster,
  writableSide,
} from './server.ts';

/** A guard without an answer does not apply to what was asked for. */
const guards: readonly ((input: GuardInput) => Guard | undefined)[] = [
  rightCluster,
  writableSide,
  clusterHealthy,
  accountMayRelease,
  formatRecognised,
  sameGrant,
  ownerDistinct,
  expiresSoon,
  noRenewal,
  ownerGone,
  stuckThread,
  blastRadius,
  sessionEnds,
  singleHold,
  nextInLine,
  fenceRaised,
  resourceTold,
  ownerAsked,
  notAgain,
  notMany,
  nameConfirmed,
  auditWritable,
  clockUnused,
];

/** Guards that a recorded reason can take out of the way, at least while they are only unknown. */
export const overridable: readonly string[] = [
  'right-cluster',
  'writable-side',
  'cluster-healthy',
  'format-recognised',
  'owner-distinct',
  'expires-soon',
  'no-renewal',
  'owner-connection',
  'blast-radius',
  'session-may-hold-newer-grant',
  'single-hold',
  'not-again',
  'not-many',
];

export function judgeGuards(input: GuardInput): readonly Guard[] {
  return guards.flatMap((guard) => guard(input) ?? []);
}
