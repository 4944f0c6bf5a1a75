/** The release race at length on ZooKeeper: each kind of name on one member and on three. */
import { describe } from 'vitest';
import {
  guidLayout,
  openZooKeeperArena,
  plainEphemeralLayout,
  sequentialLayout,
  writtenEphemeralLayout,
} from '../contract/arenas/zookeeper-arenas.ts';
import { describeReleaseRace } from '../contract/race.contract.ts';
import { soakRace } from '../contract/race-rounds.ts';
import { useLab } from '../helpers/servers.ts';

describe.each([1, 3])('%i members', (members) => {
  const ensemble = useLab({
    system: 'zookeeper',
    members,
    options: { 'admin.enableServer': 'false', '4lw': 'off' },
  });
  for (const [name, layout] of [
    ['one ephemeral ZooKeeper node', plainEphemeralLayout],
    ['an ephemeral ZooKeeper node that its owner writes', writtenEphemeralLayout],
    ['sequential ZooKeeper nodes', sequentialLayout],
    ['ZooKeeper nodes named by a GUID', guidLayout],
  ] as const) {
    const open = () => openZooKeeperArena(ensemble.target, layout);
    describeReleaseRace(`${name}, members: ${members}`, open, soakRace);
  }
});
