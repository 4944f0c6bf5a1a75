/**
 * The ZooKeeper lock recipe, as every library varies it: sequential children of one parent, the
 * lowest holds, each waiter watches a predecessor. Pure ordering and holding rules; which names a
 * library writes is in that library's own file.
 */
import type { Holder, Waiter } from '../domain/holder.ts';
import { known, unknown } from '../domain/known.ts';
import type { LockMode, LockNote } from '../domain/lock.ts';
import type { Text } from '../domain/text.ts';
import { hasWrapped, inSequenceOrder } from '../domain/zookeeper-sequence.ts';
import type { ContenderName, Decoded, ZooKeeperChild, ZooKeeperRecord } from './convention.ts';
import { weakness } from './owner-shape.ts';

export interface Contender extends ContenderName {
  readonly node: ZooKeeperChild;
}

/** Contenders in the order of their sequence numbers, also where the counter came round. */
export function orderContenders(
  record: Pick<ZooKeeperRecord, 'children'>,
  read: (name: Text) => ContenderName | undefined,
): readonly Contender[] {
  const contenders: Contender[] = [];
  for (const node of record.children) {
    const name = read(node.name);
    if (name !== undefined) contenders.push({ ...name, node });
  }
  contenders.sort((a, b) => (a.node.czxid < b.node.czxid ? -1 : 1));
  return inSequenceOrder(contenders);
}

/** Who holds: the first; or every reader before the first writer. The rest wait. */
export function splitHolders(ordered: readonly Contender[]): {
  readonly holding: readonly Contender[];
  readonly waiting: readonly Contender[];
} {
  const [first] = ordered;
  if (first === undefined) return { holding: [], waiting: [] };
  if (first.kind !== 'read') return { holding: [first], waiting: ordered.slice(1) };
  const firstWriter = ordered.findIndex((one) => one.kind !== 'read');
  const readers = firstWriter === -1 ? ordered.length : firstWriter;
  return { holding: ordered.slice(0, readers), waiting: ordered.slice(readers) };
}

/** What a waiter should watch: its predecessor; a reader, the last writer before it. */
export function predecessorOf(
  ordered: readonly Contender[],
  position: number,
): Contender | undefined {
  const self = ordered[position];
  if (self === undefined) return undefined;
  const before = ordered.slice(0, position);
  return self.kind === 'read' ? before.findLast((one) => one.kind !== 'read') : before.at(-1);
}

/** What Curator's Revoker writes over the data of a holder, and with it over the owner's name. */
const revoked = '__REVOKE__';

/** Node data as the owner's own word; an empty or overwritten value leaves only the node's name. */
export function ownerOf(node: ZooKeeperChild): Text {
  return node.data === '' || node.data === revoked ? node.name : node.data;
}

/** The data is a host, an address or a constant, which other holders may write alike. */
export function isWeakOwner(node: ZooKeeperChild): boolean {
  return node.data !== '' && node.data !== revoked && weakness(node.data) !== undefined;
}

/** Decodes a queue whose child names are read by `read`. */
export function decodeQueue(
  record: ZooKeeperRecord,
  read: (name: Text) => ContenderName | undefined,
): Decoded {
  const ordered = orderContenders(record, read);
  const { holding, waiting } = splitHolders(ordered);
  const [first] = holding;
  const shared = first?.kind === 'read';
  return {
    state: stateOf(holding),
    mode: shared ? 'shared' : ('exclusive' satisfies LockMode),
    holders: known(holding.map(toHolder)),
    waiters: { kind: 'exact', list: waiting.map((one, index) => toWaiter(one, index + 1)) },
    fence:
      first === undefined
        ? { kind: 'none' }
        : { kind: 'token', token: first.node.czxid, source: 'czxid' },
    heldForMs: unknown(
      'ZooKeeper does not record when a waiter became the holder',
      'write the time of the grant into the owner value',
    ),
    helpers: [],
    notes: queueNotes(ordered),
    weakOwner: holding.some(({ node }) => isWeakOwner(node)),
  };
}

/** A persistent contender outlives its session: nothing frees it but a deletion. */
export function stateOf(holding: readonly Contender[]): 'free' | 'held' | 'no-ttl' {
  if (holding.length === 0) return 'free';
  return holding.some((one) => one.node.ephemeralOwner === 0n) ? 'no-ttl' : 'held';
}

export function toHolder(one: Contender): Holder {
  return {
    owner: ownerOf(one.node),
    place: placeOf(one.node),
    holds: 1,
    record: one.node.name,
    ...(one.kind === 'exclusive' ? {} : { mode: one.kind }),
  };
}

export function toWaiter(one: Contender, position: number): Waiter {
  return {
    position,
    owner: ownerOf(one.node),
    record: one.node.name,
    ...(one.kind === 'exclusive' ? {} : { mode: one.kind }),
  };
}

const address = /^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F]*:[0-9a-fA-F:]+)$/;

/** Node data often is the client's address or host; it is the owner's claim, not the server's word. */
export function placeOf(node: ZooKeeperChild): Holder['place'] {
  return address.test(node.data)
    ? known({ host: node.data, source: 'node data' })
    : unknown('the node data names no address', 'read the session’s client address');
}

export function queueNotes(ordered: readonly Contender[]): readonly LockNote[] {
  const notes: LockNote[] = [];
  for (const { node } of ordered) {
    if (node.ephemeralOwner === 0n) {
      notes.push({
        code: 'persistent-contender',
        severity: 'warn',
        text: `${node.name} is persistent: it outlives its client and will never free itself`,
      });
    }
    if (node.data === revoked) {
      notes.push({
        code: 'revoke-requested',
        severity: 'info',
        text: `${node.name}: somebody asked its holder to let go (${revoked}), which erased the owner's data: who it is is not known any more`,
      });
    }
  }
  if (ordered.some((one) => hasWrapped(one.sequence))) {
    notes.push({
      code: 'sequence-wrapped',
      severity: 'warn',
      text: 'sequence numbers passed 2147483647: libraries that sort them as signed numbers or as text now disagree about the order',
    });
  }
  return notes;
}
