/**
 * Releases one grant on every server of a Redlock, each by its own compare-and-delete: there is no
 * step that covers them all. It is released when a majority is known to lack it; what could not be
 * done or proven is told server by server.
 */
import { FencepostError } from '../../domain/errors.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import type { ReleaseOptions, ReleasePreview, ReleaseResult } from '../../domain/release.ts';
import { stringToText } from '../../domain/text.ts';
import { previewRelease } from './preview.ts';
import type { RedisConventions } from './recognise.ts';
import { majorityOf, readRedlockIdentity, type RedlockIdentity } from './redlock-view.ts';

/** How one server came out of it. */
export interface NodeOutcome {
  readonly endpoint: string;
  /** `lacks`: it had no such grant to begin with. */
  readonly result: ReleaseResult | { readonly outcome: 'lacks' };
}

/** The snapshot as one server's own release wants it. */
export function grantOn(
  seen: LockSnapshot,
  grant: RedlockIdentity['grants'][number],
): LockSnapshot {
  const { endpoint, expect, record } = grant;
  const { role } = seen.server;
  return { ...seen, identity: { expect, record }, server: { endpoint, role } };
}

export function previewRedlock(
  conventions: RedisConventions,
  seen: LockSnapshot,
  how: Pick<ReleaseOptions, 'hold' | 'endSession'>,
): ReleasePreview {
  if (seen.identity === undefined) return previewRelease(conventions, seen, how);
  const { nodes, grants } = readRedlockIdentity(seen.identity.record);
  const [first] = grants;
  if (first === undefined) return previewRelease(conventions, seen, how);
  const { endSession } = how;
  const plan = previewRelease(
    conventions,
    grantOn(seen, first),
    endSession === undefined ? {} : { endSession },
  );
  const [condition] = plan.deletes;
  const refused = how.hold === undefined ? undefined : noHold;
  return {
    ...plan,
    deletes: grants.map(({ endpoint }) => ({
      record: stringToText(`${condition?.record ?? seen.ref.name} on ${endpoint}`),
      condition: condition?.condition ?? '',
    })),
    atomicity: `one script on each of ${nodes} servers, side by side: no step covers them all, and it is released when ${majorityOf(nodes)} lack it`,
    possible: plan.possible.can && refused !== undefined ? refused : plan.possible,
  };
}

const noHold = {
  can: false,
  reason: 'no step replaces a record on several servers, and half a hold keeps nobody out',
  remedy: 'leave --hold out',
} as const;

/** Joins what the servers answered. Pure. */
export function joinOutcomes(nodes: number, outcomes: readonly NodeOutcome[]): ReleaseResult {
  const majority = majorityOf(nodes);
  const results = outcomes.map(({ result }) => result);
  const lacking = results.filter(lacks).length;
  const released = results.filter((one) => one.outcome === 'released');
  const reply = outcomes.map(lineOf).join('; ');
  const base = { reply: stringToText(reply), fenceRaisedTo: highestFence(results) };
  if (lacking >= majority) {
    const [first] = released;
    if (first !== undefined) return { ...base, outcome: 'released', woken: first.woken };
    const changed = results.find((one) => one.outcome === 'changed-hands');
    return changed === undefined
      ? { ...base, outcome: 'already-gone' }
      : { ...base, outcome: 'changed-hands', now: changed.now };
  }
  const refusal = results.find((one) => one.outcome === 'refused');
  const doubt = results.some((one) => one.outcome === 'unknown');
  if (released.length === 0 && !doubt && refusal !== undefined) return { ...refusal, ...base };
  return {
    ...base,
    outcome: 'unknown',
    reason: `${lacking} of ${nodes} servers are known to lack it, and it takes ${majority}: ${reply}`,
  };
}

function highestFence(results: readonly NodeOutcome['result'][]): bigint | undefined {
  let highest: bigint | undefined;
  for (const result of results) {
    const raised = result.outcome === 'lacks' ? undefined : result.fenceRaisedTo;
    if (raised !== undefined && (highest === undefined || raised > highest)) highest = raised;
  }
  return highest;
}

/** The grant seen is not there (any more). */
function lacks({ outcome }: NodeOutcome['result']): boolean {
  return ['lacks', 'released', 'already-gone', 'changed-hands'].includes(outcome);
}

function lineOf({ endpoint, result }: NodeOutcome): string {
  switch (result.outcome) {
    case 'lacks':
      return `${endpoint}: had none`;
    case 'refused':
    case 'unknown':
      return `${endpoint}: ${result.outcome}, ${result.reason}`;
    case 'changed-hands':
      return `${endpoint}: changed hands, ${result.now}`;
    case 'released':
    case 'already-gone':
    case 'foreign-removed':
      return `${endpoint}: ${result.outcome.replace('-', ' ')}`;
  }
}

/** A server that cannot be reached: nothing was sent to it, and nothing is known of it. */
export function unreached(endpoint: string, error: unknown): NodeOutcome {
  if (!(error instanceof FencepostError)) throw error;
  const reason = error.message;
  return {
    endpoint,
    result: { outcome: 'unknown', reason, reply: 'nothing was sent', fenceRaisedTo: undefined },
  };
}
