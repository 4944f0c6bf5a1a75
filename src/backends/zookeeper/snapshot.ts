/** Turns a decoded ZooKeeper record into a lock snapshot: leases are sessions, identity is czxid. */
import type {
  Decoded,
  ZooKeeperChild,
  ZooKeeperConvention,
  ZooKeeperRecord,
} from '../../conventions/convention.ts';
import { sharedOwnerNote } from '../../conventions/owner-shape.ts';
import type { Holder } from '../../domain/holder.ts';
import { mapKnown, unknown, valueOf, type Known } from '../../domain/known.ts';
import type { Lease } from '../../domain/lease.ts';
import {
  unrecognised,
  type LockNote,
  type LockSnapshot,
  type Recognition,
  type ServerView,
} from '../../domain/lock.ts';
import { stringToText, type Text } from '../../domain/text.ts';
import { createIdentity, holdsGuid } from './identity.ts';
import type { MemberConnection } from '../../clients/zookeeper/member-connection.ts';
import { childPath, rawPath } from './records.ts';

export interface Recognized {
  readonly convention: ZooKeeperConvention;
  readonly recognition: Recognition;
}

/** Session id to connection, as far as the members told. */
export type Connections = Known<ReadonlyMap<bigint, MemberConnection>>;

export interface SnapshotInput {
  readonly record: ZooKeeperRecord;
  readonly recognized: Recognized;
  readonly connections: Connections;
  readonly server: ServerView;
  readonly hiddenChildren: number;
  /** The contender a person asked for by its full path; undefined: the (first) holder. */
  readonly focus: Text | undefined;
}

/** The whole snapshot of one lock. */
export function toSnapshot(input: SnapshotInput): LockSnapshot {
  const { record, recognized, focus } = input;
  const decoded = decode(input);
  const holders = mapKnown(decoded.holders, (list) =>
    list.map((holder) => withSession(holder, input)),
  );
  const waiters = withWaiterSessions(decoded, input);
  const { convention, recognition } = recognized;
  const lock = {
    name: convention.nameOf?.(record.path) ?? record.path,
    convention: convention.id,
  };
  const meant = meantRecord(input, decoded, valueOf(holders) ?? []);
  return {
    ref: focus === undefined ? lock : { ...lock, name: contenderPath(record, focus) },
    ...(focus === undefined ? {} : { partOf: lock }),
    state: decoded.state,
    recognition: { ...recognition, title: decoded.title ?? recognition.title },
    mode: decoded.mode,
    holders,
    lease: decoded.lease ?? leaseOf(meant, decoded, input),
    waiters,
    fence: decoded.fence,
    heldForMs: decoded.heldForMs,
    helpers: decoded.helpers,
    notes: [...decoded.notes, ...ownNotes(input, decoded, valueOf(holders) ?? [])],
    identity: meant === undefined ? undefined : identityOf(meant, input, valueOf(holders) ?? []),
    server: input.server,
  };
}

function contenderPath(record: ZooKeeperRecord, name: Text): Text {
  return stringToText(childPath(rawPath(record.path), rawPath(name)));
}

/** The node that the identity is of: the contender asked for, the (first) holder, or the lock's own node. */
function meantRecord(
  { focus, record }: SnapshotInput,
  { state, holders: { kind } }: Decoded,
  [first]: readonly Holder[],
): Text | undefined {
  if (focus !== undefined) return focus;
  if (first !== undefined) return first.record;
  const own = kind === 'unknown' && record.children.length === 0;
  return own && (state === 'held' || state === 'no-ttl') ? record.node.name : undefined;
}

function leaseOf(meant: Text | undefined, decoded: Decoded, input: SnapshotInput): Lease {
  const node = nodeOf(meant, input.record);
  if (node !== undefined) return sessionLease(node, input.connections);
  const { holders } = decoded;
  return {
    kind: 'unknown',
    reason: holders.kind === 'unknown' ? holders.reason : 'nobody holds it',
  };
}

function decode({ record, recognized }: SnapshotInput): Decoded {
  const decoded = recognized.convention.decode(record);
  if (recognized.recognition.convention !== unrecognised) return decoded;
  const hole = { kind: 'unknown', reason: 'no lock layout recognised' } as const;
  return { ...decoded, state: 'unknown', holders: hole, waiters: hole, fence: hole };
}

function withSession(holder: Holder, input: SnapshotInput): Holder {
  const node = nodeOf(holder.record, input.record);
  if (node === undefined) return holder;
  const lease = sessionLease(node, input.connections);
  const place = sessionPlace(node, input.connections);
  return { ...holder, lease, place: place.kind === 'unknown' ? keepReason(holder, place) : place };
}

/** Node data that names an address is better than no address; otherwise say why there is none. */
function keepReason(holder: Holder, place: Holder['place']): Holder['place'] {
  return holder.place.kind === 'unknown' ? place : holder.place;
}

function withWaiterSessions(decoded: Decoded, input: SnapshotInput): LockSnapshot['waiters'] {
  if (decoded.waiters.kind !== 'exact') return decoded.waiters;
  return {
    kind: 'exact',
    list: decoded.waiters.list.map((waiter) => {
      const node = nodeOf(waiter.record, input.record);
      return node === undefined
        ? waiter
        : {
            ...waiter,
            lease: sessionLease(node, input.connections),
            place: sessionPlace(node, input.connections),
          };
    }),
  };
}

/** The node of a holder or waiter: a child, or the record's own node. */
export function nodeOf(
  name: Text | undefined,
  record: ZooKeeperRecord,
): ZooKeeperChild | undefined {
  if (name === undefined) return undefined;
  return (
    record.children.find((child) => child.name === name) ??
    record.gate?.children.find((child) => child.name === name) ??
    (record.node.name === name ? record.node : undefined)
  );
}

/** Session ids as ZooKeeper's own tools print them. */
export function sessionText(sessionId: bigint): Text {
  return stringToText(`0x${sessionId.toString(16)}`);
}

function sessionLease(node: ZooKeeperChild, connections: Connections): Lease {
  if (node.ephemeralOwner === 0n) return { kind: 'never' };
  const timeoutMs = valueOf(connections)?.get(node.ephemeralOwner)?.timeoutMs;
  return {
    kind: 'session',
    sessionId: sessionText(node.ephemeralOwner),
    timeoutMs:
      timeoutMs === undefined
        ? unknownFrom(connections, 'no member shows a connection of this session')
        : { kind: 'known', value: timeoutMs },
  };
}

function sessionPlace(node: ZooKeeperChild, connections: Connections): Holder['place'] {
  if (node.ephemeralOwner === 0n) return unknown('a persistent node belongs to no session');
  const connection = valueOf(connections)?.get(node.ephemeralOwner);
  if (connection === undefined) {
    return unknownFrom(connections, 'no member shows a connection of this session');
  }
  return {
    kind: 'known',
    value: { host: connection.address, source: `${connection.source} of ${connection.member}` },
  };
}

function unknownFrom(fact: Known<unknown>, otherwise: string): Known<never> {
  return fact.kind === 'known' ? unknown(otherwise) : unknown(fact.reason, fact.remedy);
}

function identityOf(
  name: Text,
  input: SnapshotInput,
  holders: readonly Holder[],
): LockSnapshot['identity'] {
  const node = nodeOf(name, input.record);
  if (node === undefined) return undefined;
  const parent = rawPath(input.record.path);
  const own = input.record.node.name === name && input.record.children.length === 0;
  const { convention } = input.recognized;
  return createIdentity({
    convention: convention.id,
    path: own ? parent : childPath(parent, rawPath(name)),
    czxid: node.czxid,
    ephemeralOwner: node.ephemeralOwner,
    version: node.ephemeralOwner === 0n ? node.version : undefined,
    parentCzxid: own ? undefined : input.record.node.czxid,
    uniqueName: convention.uniqueNames && holdsGuid(name),
    role: own || holders.some((holder) => holder.record === name) ? 'holder' : 'waiter',
  });
}

function ownNotes(
  input: SnapshotInput,
  decoded: Decoded,
  holders: readonly Holder[],
): readonly LockNote[] {
  const notes: LockNote[] = [];
  if (input.hiddenChildren > 0) {
    notes.push({
      code: 'hidden-children',
      severity: 'warn',
      text: `${input.hiddenChildren} contenders hide their data by an ACL: who they are is not known`,
    });
  }
  if (decoded.state === 'free') {
    notes.push({
      code: 'empty-parent',
      severity: 'info',
      text: `no contenders; the parent changed ${input.record.cversion} times`,
    });
  }
  if (holders.length > 1) {
    notes.push({
      code: 'several-holders',
      severity: 'info',
      text: 'a release removes one holder: name it by its full path, or the first one is meant',
    });
  }
  if (decoded.weakOwner && holders.length > 0) {
    notes.push(sharedOwnerNote('czxid, which no two nodes share'));
  }
  return [...notes, ...sharedSessionNotes(input.record)];
}

/** Two contenders of one session usually are one client waiting for itself. */
function sharedSessionNotes(record: ZooKeeperRecord): readonly LockNote[] {
  const seen = new Map<bigint, Text>();
  const notes: LockNote[] = [];
  for (const child of record.children) {
    if (child.ephemeralOwner === 0n) continue;
    const other = seen.get(child.ephemeralOwner);
    if (other !== undefined) {
      notes.push({
        code: 'same-session',
        severity: 'warn',
        text: `${other} and ${child.name} belong to one session, ${sessionText(child.ephemeralOwner)}`,
      });
    }
    seen.set(child.ephemeralOwner, child.name);
  }
  return notes;
}
