/** Names and event numbers of grants and operations, as notes and witnesses show them. */
import type { Grant, Operation } from './history.ts';

/** Event number of the completion, or of the invocation where none came. */
export function lastSeq(operation: Operation): number {
  return operation.complete?.seq ?? operation.invoke.seq;
}

/** Invocation and completion. */
export function bothSeqs(operation: Operation): number[] {
  return [operation.invoke.seq, lastSeq(operation)];
}

/** The fewest events that show `grant` held beyond its first lease: its reply, its last renewal. */
export function holdSeqs(grant: Grant): number[] {
  const renewal = grant.renewals.at(-1);
  return [lastSeq(grant.proof), ...(renewal === undefined ? [] : [lastSeq(renewal)])];
}

/** `A (fence 41)`, or `A`. */
export function grantName(grant: Grant): string {
  return grant.fence === undefined ? grant.worker : `${grant.worker} (fence ${grant.fence})`;
}
