/** The release race on ZooKeeper, in each kind of name that fencepost can release. */
import { useLab } from '../../helpers/servers.ts';
import { describeReleaseRace } from '../race.contract.ts';
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

// Ten thousand in all.
describeReleaseRace('one ephemeral ZooKeeper node', open(plainEphemeralLayout), 5_000);
describeReleaseRace(
  'an ephemeral ZooKeeper node that its owner writes',
  open(writtenEphemeralLayout),
  1_500,
);
describeReleaseRace('sequential ZooKeeper nodes', open(sequentialLayout), 2_000);
describeReleaseRace('ZooKeeper nodes named by a GUID', open(guidLayout), 1_500);
