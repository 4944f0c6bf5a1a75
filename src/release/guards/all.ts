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
import { auditWritable, fenceRaised, nameConfirmed, notAgain, ownerAsked } from './operator.ts';
import { expiresSoon, noRenewal, ownerGone, stuckThread } from './owner.ts';
import { accountMayRelease, clusterHealthy, rightCluster, writableSide } from './server.ts';

const guards: readonly ((input: GuardInput) => Guard)[] = [
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
  singleHold,
  nextInLine,
  fenceRaised,
  ownerAsked,
  notAgain,
  nameConfirmed,
  auditWritable,
];

export function judgeGuards(input: GuardInput): readonly Guard[] {
  return guards.map((guard) => guard(input));
}
