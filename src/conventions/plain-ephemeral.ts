/**
 * One ephemeral node without children, as hand-made leader flags and simple locks are: whoever
 * created it holds, others watch for its deletion and create it again under the same name.
 */
import { known, unknown } from '../domain/known.ts';
import type { ZooKeeperConvention } from './convention.ts';

export const plainEphemeral: ZooKeeperConvention = {
  id: 'plain-ephemeral',
  title: 'one ephemeral node',
  recognises: 'one ephemeral node with a lock’s name',
  system: 'zookeeper',
  uniqueNames: false,
  contender: () => undefined,
  matches: (record) =>
    record.children.length === 0 && record.node.ephemeralOwner !== 0n ? 'low' : undefined,
  decode: ({ node }) => ({
    state: 'held',
    mode: 'exclusive',
    holders: known([
      {
        owner: node.data === '' ? node.name : node.data,
        place: unknown('the node data names no address', 'read the session’s client address'),
        holds: 1,
        record: node.name,
      },
    ]),
    waiters: { kind: 'unknown', reason: 'this layout keeps no record of waiters' },
    fence: { kind: 'token', token: node.czxid, source: 'czxid' },
    heldForMs: unknown('read the creation time of the node'),
    helpers: [],
    notes: [],
    weakOwner: node.data === '',
  }),
};
