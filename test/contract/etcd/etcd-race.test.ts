/** The release race on etcd, in each layout that fencepost can release. */
import { useLab } from '../../helpers/servers.ts';
import { describeReleaseRace } from '../race.contract.ts';
import { shortRaces } from '../race-rounds.ts';
import { openEtcdArena, queueLayout, singleKeyLayout } from '../arenas/etcd-arenas.ts';

const lab = useLab({ system: 'etcd' });
const { queue, singleKey } = shortRaces.etcd;

describeReleaseRace('an etcd queue of keys', () => openEtcdArena(lab.target, queueLayout), queue);
describeReleaseRace(
  'a single etcd key',
  () => openEtcdArena(lab.target, singleKeyLayout),
  singleKey,
);
