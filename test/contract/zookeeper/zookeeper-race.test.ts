/** The release race on ZooKeeper, in each kind of name that fencepost can release. */
import { useLab } from '../../helpers/servers.ts';
import { describeReleaseRace } from '../race.contract.ts';
import { shortRaces } from '../race-rounds.ts';
import {
  guidLayout,
  openZooKeeperArena,
  plainEphemeralLayout,
  sequentialLayout,
  writtenEphemeralLayout,
  type ZooKeeperLayout,
} from '../arenas/zookeeper-arenas.ts';

const lab = useLab({
  system: 'zookeeper',
  options: { 'admin.enableServer': 'false', '4lw': 'off' },
});

const open = (layout: ZooKeeperLayout) => () => openZooKeeperArena(lab.target, layout);
const { plain, written, sequential, guid } = shortRaces.zooKeeper;

describeReleaseRace('one ephemeral ZooKeeper node', open(plainEphemeralLayout), plain);
describeReleaseRace(
  'an ephemeral ZooKeeper node that its owner writes',
  open(writtenEphemeralLayout),
  written,
);
describeReleaseRace('sequential ZooKeeper nodes', open(sequentialLayout), sequential);
describeReleaseRace('ZooKeeper nodes named by a GUID', open(guidLayout), guid);
