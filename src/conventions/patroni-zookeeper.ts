/**
 * Patroni's leader node: an ephemeral `/<namespace>/<scope>/leader` with the member's name. Its
 * PostgreSQL cluster fails over when it goes, so it is never released by force.
 * @see patroni@de6b22c patroni/dcs/zookeeper.py
 */
import type { Confidence } from '../domain/lock.ts';
import type { ZooKeeperConvention, ZooKeeperRecord } from './convention.ts';
import { plainEphemeral } from './plain-ephemeral.ts';

/** `optime/leader` is a number that the leader writes, not the leader. */
const leaderPath = /^\/(?:[^/]+\/)*(?!optime\/)[^/]+\/leader$/;

export const patroniZooKeeper: ZooKeeperConvention = {
  ...plainEphemeral,
  id: 'patroni',
  title: 'Patroni leader',
  recognises: '/<namespace>/<scope>/leader → member',
  forbidden:
    'this looks like the leader node of a Patroni cluster: deleting it makes PostgreSQL fail over; use patronictl, or name the layout with --convention if it is none',
  matches,
  decode: (record) => ({
    ...plainEphemeral.decode(record),
    waiters: { kind: 'unknown', reason: 'members watch the node: they leave no record' },
  }),
};

function matches(record: ZooKeeperRecord): Confidence | undefined {
  if (plainEphemeral.matches(record) === undefined || !leaderPath.test(record.path)) {
    return undefined;
  }
  return record.path.startsWith('/service/') ? 'high' : 'low';
}
