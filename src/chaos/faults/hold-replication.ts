/**
 * Holds the replication of a Redis primary: each replica follows it through a proxy that lets nothing
 * through any more, so what is written from then on is on the primary alone. (A stopped replica
 * loses nothing: what it missed waits in its socket.)
 */
import { z } from 'zod';
import { FaultNotApplied } from '../../domain/errors.ts';
import type { Evidence } from '../../domain/evidence.ts';
import { rawFraming } from '../framing.ts';
import type { WorkerProxy } from '../proxy.ts';
import { startTcpProxy } from '../tcp-proxy.ts';
import type { ActiveFault, Fault, FaultContext } from './fault.ts';
import {
  factsOf,
  openReplicated,
  order,
  withoutReplicas,
  type DataServer,
  type Replicated,
} from './redis-servers.ts';
import { untilTrue } from './until-true.ts';

/** How replication is held; tests break it to see that the evidence notices. */
export type Holder = (proxy: WorkerProxy) => void;

const followsWithinMs = 8000;
const droppedWithinMs = 3000;

export const holdReplication: Fault = createHoldReplication((proxy) => {
  proxy.cut('to-worker');
});

export function createHoldReplication(hold: Holder): Fault {
  return {
    name: 'hold-replication',
    title: 'let no write of the primary reach its replicas',
    options: z.strictObject({}),
    kind: 'lasting',
    silences: false,
    needsReplicas: 2,
    unavailable: withoutReplicas,
    undo: 'replicas follow the primary directly again; by the reaper: the servers end',
    begin: (context) => beginHold(context, hold),
  };
}

async function beginHold(context: FaultContext, hold: Holder): Promise<ActiveFault> {
  const nodes = await openReplicated(context);
  await context.willDo(`replication of ${nodes.primary.name} held`);
  const proxies: WorkerProxy[] = [];
  const marker = `${context.prefix}/held`;
  let ending: Promise<readonly Evidence[]> | undefined;
  const end = async (): Promise<readonly Evidence[]> => {
    const evidence = await lackEvidence(nodes, marker, context);
    await followDirectly(nodes, proxies);
    await Promise.all(proxies.map((proxy) => proxy.close()));
    await nodes.primary.link.send('DEL', marker);
    nodes.close();
    return evidence;
  };
  try {
    for (const replica of nodes.replicas)
      proxies.push(await followByProxy(nodes, replica, context));
    await allFollow(nodes, context);
    for (const proxy of proxies) hold(proxy);
    await order(nodes.primary, 'SET', marker, '1', 'PX', '600000');
    const dropped = (): number[] => proxies.map((one) => one.counters('to-worker').bytesDropped);
    const all = (): boolean => dropped().every((bytes) => bytes > 0);
    await untilTrue(all, droppedWithinMs, context.signal);
    const held = {
      source: 'proxies between the primary and its replicas',
      atNs: context.nowNs(),
      fact: `${dropped().join(' and ')} bytes dropped`,
      proves: 'the primary sent a write to each replica that did not arrive',
      holds: dropped().every((bytes) => bytes > 0),
    };
    const evidence = [held, ...(await lackEvidence(nodes, marker, context))];
    return { target: nodes.primary.name, evidence, end: () => (ending ??= end()) };
  } catch (error) {
    await end();
    throw error;
  }
}

async function followByProxy(
  { primary }: Replicated,
  replica: DataServer,
  { nowNs }: FaultContext,
): Promise<WorkerProxy> {
  const proxy = await startTcpProxy({
    name: `${replica.name} to ${primary.name}`,
    upstream: primary.endpoint,
    tls: undefined,
    framing: rawFraming,
    requestAction: () => undefined,
    originNs: process.hrtime.bigint() - nowNs(),
  });
  await order(replica, 'REPLICAOF', proxy.endpoint.host, String(proxy.endpoint.port));
  return proxy;
}

/** Before it is held everything must have arrived: a replica that copies anew takes more along. */
async function allFollow(
  { primary, replicas }: Replicated,
  { signal }: FaultContext,
): Promise<void> {
  const follow = async (): Promise<boolean> => {
    const { offset } = await factsOf(primary.link);
    const all = await Promise.all(replicas.map(({ link }) => factsOf(link)));
    return all.every((one) => one.linkUp && (one.offset ?? 0n) >= (offset ?? 1n));
  };
  if (await untilTrue(follow, followsWithinMs, signal)) return;
  throw new FaultNotApplied('the replicas did not follow through their proxies in time', {
    code: 'fault-not-applied',
    definite: true,
  });
}

/** Each replica's own word: what was written while it was held is not there. */
async function lackEvidence(
  { replicas }: Replicated,
  marker: string,
  { nowNs }: FaultContext,
): Promise<readonly Evidence[]> {
  return Promise.all(
    replicas.map(async ({ name, link }) => {
      const reply = await link.send('GET', marker);
      const lacks = reply.outcome === 'ok' && reply.value === undefined;
      return {
        source: name,
        atNs: nowNs(),
        fact: lacks
          ? `${name} does not have what was written meanwhile`
          : `${name} has what was written meanwhile, or does not answer`,
        proves: 'replication is held',
        holds: lacks,
      };
    }),
  );
}

/** Those that still follow through us; one that was promoted stays what it is. */
async function followDirectly(
  { primary, replicas }: Replicated,
  proxies: readonly WorkerProxy[],
): Promise<void> {
  const alive = (await factsOf(primary.link)).role === 'master';
  if (!alive) return;
  for (const [index] of proxies.entries()) {
    const replica = replicas[index];
    if (replica === undefined || (await factsOf(replica.link)).role !== 'slave') continue;
    const { host, port } = primary.endpoint;
    await order(replica, 'REPLICAOF', host, String(port));
  }
}
