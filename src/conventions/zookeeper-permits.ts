/**
 * Semaphores: every contender at the permits holds one, and whoever wants one queues at a gate
 * lock first. Order among the permits says nothing; the gate's order is the order of the waiters.
 */
import { known, unknown } from '../domain/known.ts';
import type { LockNote } from '../domain/lock.ts';
import type { Text } from '../domain/text.ts';
import type { ContenderName, Decoded, ZooKeeperRecord } from './convention.ts';
import type { Waiters } from '../domain/holder.ts';
import {
  isWeakOwner,
  orderContenders,
  queueNotes,
  stateOf,
  toHolder,
  toWaiter,
  type Contender,
} from './zookeeper-queue.ts';

export interface PermitsLayout {
  contender(child: Text): ContenderName | undefined;
  gateContender(child: Text): ContenderName | undefined;
  /** One sentence on how many permits there are. */
  readonly capacity: string;
  /** Whoever is through the gate makes its permit's node at once, and waits with it for its turn. */
  readonly waitsWithNode?: true;
}

/** Reads a semaphore. Its fence is the czxid of the oldest permit: no single token orders them all. */
export function decodePermits(record: ZooKeeperRecord, layout: PermitsLayout): Decoded {
  const nodes = orderContenders(record, (name) => layout.contender(name));
  const early = layout.waitsWithNode === true ? earlyNode(nodes, record, layout) : undefined;
  const permits = nodes.filter((one) => one !== early);
  const waiters = waitersAt(record, layout, early);
  const waiting = waiters.kind === 'exact' ? waiters.list.length : 0;
  return {
    state: permits.length === 0 && waiting > 0 ? 'orphan-waiters' : stateOf(permits),
    mode: 'semaphore',
    holders: known(permits.map(toHolder)),
    waiters,
    fence: fenceOf(permits),
    heldForMs: unknown('ZooKeeper does not record when a permit was taken'),
    helpers: record.gate === undefined ? [] : [record.gate.path],
    notes: [...notesOf(permits, waiting, layout.capacity), ...queueNotes(permits)],
    weakOwner: permits.some(({ node }) => isWeakOwner(node)),
  };
}

/**
 * The permit's node of the first at the gate, which holds the gate until its turn: made last, after
 * its node at the gate. With no other node there, it is its turn.
 */
function earlyNode(
  nodes: readonly Contender[],
  { gate }: ZooKeeperRecord,
  layout: PermitsLayout,
): Contender | undefined {
  if (gate === undefined || nodes.length < 2) return undefined;
  const first = orderContenders(gate, (name) => layout.gateContender(name))[0]?.node;
  const latest = nodes.reduce((a, b) => (a.node.czxid > b.node.czxid ? a : b));
  return first?.ephemeralOwner === latest.node.ephemeralOwner && first.czxid < latest.node.czxid
    ? latest
    : undefined;
}

function waitersAt(
  record: ZooKeeperRecord,
  layout: PermitsLayout,
  early: Contender | undefined,
): Waiters {
  if (record.gate === undefined) {
    return { kind: 'unknown', reason: 'the lock at which its waiters queue was not read' };
  }
  const queue = orderContenders(record.gate, (name) => layout.gateContender(name));
  const list = queue.map((one, index) => toWaiter(one, index + 1));
  const [head, ...rest] = list;
  return early === undefined || head === undefined
    ? { kind: 'exact', list }
    : { kind: 'exact', list: [{ ...head, note: `waits with ${early.node.name}` }, ...rest] };
}

export function fenceOf(holding: readonly Contender[]): Decoded['fence'] {
  const [first] = holding;
  return first === undefined
    ? { kind: 'none' }
    : { kind: 'token', token: first.node.czxid, source: 'czxid' };
}

export function capacityNote(taken: number, capacity: string): LockNote {
  const permits = taken === 1 ? '1 permit' : `${taken} permits`;
  return { code: 'capacity', severity: 'info', text: `${permits} taken; ${capacity}` };
}

function notesOf(permits: readonly Contender[], waiting: number, capacity: string): LockNote[] {
  const notes: LockNote[] = [capacityNote(permits.length, capacity)];
  if (permits.length === 0 && waiting > 0) {
    notes.push({
      code: 'nobody-holds',
      severity: 'warn',
      text: 'no permit is taken, yet somebody waits: the head of the queue should have one at once',
    });
  }
  return notes;
}
