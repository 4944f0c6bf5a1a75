/**
 * Faults that somebody with access to the server brings about: the record of a holder deleted by
 * hand, its lease revoked, its session ended. They are over at once, and leave nothing to undo.
 */
import { z } from 'zod';
import { FaultNotApplied } from '../../domain/errors.ts';
import type { Evidence } from '../../domain/evidence.ts';
import type { Intervention, InterventionName, ObservedEnd } from '../../protocols/protocol.ts';
import type { ActiveFault, Fault, FaultContext } from './fault.ts';

/** What is named, and how the observer sees a hold end by it. */
export interface InterventionKind {
  readonly name: InterventionName;
  readonly title: string;
  readonly causes: readonly ObservedEnd['cause'][];
  /** What it takes, for protocols without it. */
  readonly needs: string;
}

const requestTimeoutMs = 2000;

/** @param broken the injector instead of the protocol's; tests see that the evidence notices */
export function createIntervention(kind: InterventionKind, broken?: Intervention): Fault {
  const { name, title, needs } = kind;
  return {
    name,
    title,
    options: z.strictObject({}),
    kind: 'instant',
    silences: false,
    undo: 'nothing to undo: the record is gone with its hold',
    unavailable({ protocol, live }) {
      if (live) return 'it acts on the server, which only --lab allows';
      return protocol.interventions?.[name] === undefined ? needs : undefined;
    },
    begin: (context) => intervene(context, kind, broken ?? context.protocol.interventions?.[name]),
  };
}

async function intervene(
  context: FaultContext,
  { name, causes }: InterventionKind,
  act: Intervention | undefined,
): Promise<ActiveFault> {
  const { worker, owner, lock, observer, target, nowNs } = context;
  const held = await observer.state(lock);
  if (act === undefined || owner === undefined || held.kind !== 'held' || held.owner !== owner) {
    throw notApplied(`${worker.id} does not hold the lock: there is nothing to do ${name} to`);
  }
  await context.willDo(`${name} of the hold of worker ${worker.id}`);
  const clientName = 'fencepost-operator';
  const shown = await act({ target, requestTimeoutMs, clientName }, lock, owner);
  if (shown === undefined) throw notApplied(`the server shows no hold of ${worker.id} any more`);
  const after = await observer.state(lock);
  const end = await observer.end(lock, owner);
  const evidence: readonly Evidence[] = [
    { source: 'server', atNs: nowNs(), ...shown },
    {
      source: 'observer connection',
      atNs: nowNs(),
      fact: `${end.cause}: ${end.witness}`,
      proves: `the hold of ${worker.id} ended by it`,
      holds: !(after.kind === 'held' && after.owner === owner) && causes.includes(end.cause),
    },
  ];
  return { target: worker.id, evidence, end: () => Promise.resolve([]) };
}

function notApplied(message: string): FaultNotApplied {
  return new FaultNotApplied(message, { code: 'fault-not-applied', definite: true });
}
