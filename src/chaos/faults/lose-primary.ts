/**
 * Loss of a Redis primary: it is killed and a replica takes its place. Without Sentinel one is
 * promoted by hand and the address moves to it. It proves a loss only when the promoted server does
 * not have the lock: a replica that happened to have it is no accident at all.
 */
import { z } from 'zod';
import { FaultNotApplied } from '../../domain/errors.ts';
import type { Evidence } from '../../domain/evidence.ts';
import type { ObservedState } from '../../protocols/protocol.ts';
import type { ActiveFault, Fault, FaultContext } from './fault.ts';
import {
  factsOf,
  openReplicated,
  order,
  refusalAt,
  withoutReplicas,
  type DataServer,
  type Replicated,
  type ReplicationFacts,
} from './redis-servers.ts';
import { untilTrue } from './until-true.ts';

const promotedWithinMs = 20_000;

export const losePrimary: Fault = {
  name: 'lose-primary',
  title: 'kill the primary and put a replica in its place',
  options: z.strictObject({}),
  kind: 'instant',
  silences: false,
  needsReplicas: 2,
  unavailable: withoutReplicas,
  undo: 'none: the servers end with the run',
  begin: beginLoss,
};

async function beginLoss(context: FaultContext): Promise<ActiveFault> {
  const nodes = await openReplicated(context);
  try {
    const held = await context.observer.state(context.lock);
    const before = await factsOf(nodes.primary.link);
    await context.willDo(`${nodes.primary.name} killed`);
    const { promoted, refusal, state } = await context.lookAway(() =>
      loseAndPromote(nodes, context),
    );
    const after = await factsOf(promoted.link);
    return {
      target: nodes.primary.name,
      evidence: [
        grantEvidence(nodes.primary, held, before, context),
        goneEvidence(nodes.primary, refusal, context),
        promotionEvidence(promoted, before, after, context),
        lostEvidence(promoted, state, context),
      ],
      end: () => Promise.resolve([]),
    };
  } finally {
    nodes.close();
  }
}

interface Promotion {
  /** What the primary's own address said once it was killed; undefined: it still let us in. */
  readonly refusal: string | undefined;
  readonly promoted: DataServer;
  /** The lock as the promoted server has it, before anybody may take it again. */
  readonly state: ObservedState | undefined;
}

async function loseAndPromote(nodes: Replicated, context: FaultContext): Promise<Promotion> {
  const { servers, primary, replicas } = nodes;
  const { target, observer, lock, signal } = context;
  await servers.kill(primary.name);
  const refusal = await refusalAt(primary.endpoint);
  if (target.kind === 'redis') {
    const [promoted, ...others] = replicas;
    const { host, port } = promoted.endpoint;
    await order(promoted, 'REPLICAOF', 'NO', 'ONE');
    for (const other of others) await order(other, 'REPLICAOF', host, String(port));
    await servers.moveAddress(primary.endpoint, promoted.endpoint);
  }
  let promoted: DataServer | undefined;
  await untilTrue(
    async () => (promoted = await findPrimary(replicas)) !== undefined,
    promotedWithinMs,
    signal,
  );
  if (promoted === undefined) {
    throw new FaultNotApplied(`no replica was promoted within ${promotedWithinMs} ms`, {
      code: 'fault-not-applied',
      definite: true,
    });
  }
  // The observer's connection went down with the primary.
  let state: ObservedState | undefined;
  await untilTrue(
    async () => (state = await observer.state(lock).catch(() => undefined)) !== undefined,
    promotedWithinMs,
    signal,
  );
  return { refusal, promoted, state };
}

async function findPrimary(replicas: readonly DataServer[]): Promise<DataServer | undefined> {
  const roles = await Promise.all(replicas.map(async ({ link }) => (await factsOf(link)).role));
  return replicas[roles.indexOf('master')];
}

function grantEvidence(
  { name }: DataServer,
  held: ObservedState,
  { offset }: ReplicationFacts,
  { nowNs }: FaultContext,
): Evidence {
  return {
    source: 'observer',
    atNs: nowNs(),
    fact:
      held.kind === 'held'
        ? `${name} has the lock of ${held.owner}, after ${offset ?? '?'} bytes of writes`
        : `${name} has no holder of the lock`,
    proves: 'the primary had granted the lock',
    holds: held.kind === 'held',
  };
}

function goneEvidence(
  { name }: DataServer,
  refusal: string | undefined,
  { nowNs }: FaultContext,
): Evidence {
  return {
    source: name,
    atNs: nowNs(),
    fact: refusal ?? `${name} still lets clients in`,
    proves: 'the primary is gone',
    holds: refusal !== undefined,
  };
}

function promotionEvidence(
  { name }: DataServer,
  before: ReplicationFacts,
  after: ReplicationFacts,
  { nowNs }: FaultContext,
): Evidence {
  const others = isAnother(before, after);
  const had = sharedOffset(before, after);
  const lagged = had !== undefined && before.offset !== undefined && had < before.offset;
  return {
    source: name,
    atNs: nowNs(),
    fact:
      `${name} is ${after.role ?? 'unknown'}, run id and replication id ${others ? 'new' : 'as before'}; ` +
      `it had ${had ?? '?'} of ${before.offset ?? '?'} bytes of writes`,
    proves: `${name} was promoted without the primary's last writes`,
    holds: after.role === 'master' && others && lagged,
  };
}

function isAnother(before: ReplicationFacts, after: ReplicationFacts): boolean {
  const { runId, replicationId } = after;
  return runId !== undefined && runId !== before.runId && replicationId !== before.replicationId;
}

/** How much of the primary's history the promoted server goes on with; undefined: of none. */
function sharedOffset(before: ReplicationFacts, after: ReplicationFacts): bigint | undefined {
  return after.before?.replicationId === before.replicationId ? after.before?.offset : undefined;
}

function lostEvidence(
  { name }: DataServer,
  state: ObservedState | undefined,
  { nowNs }: FaultContext,
): Evidence {
  const facts = {
    absent: 'does not have the lock',
    held: 'has the lock: nothing was lost',
    none: 'could not be asked for the lock',
  };
  return {
    source: 'observer',
    atNs: nowNs(),
    fact: `${name} ${facts[state?.kind ?? 'none']}`,
    proves: 'the grant was lost with the primary',
    holds: state?.kind === 'absent',
  };
}
