/** The release race on etcd, in each layout that fencepost can release. */
import { useLab } from '../../helpers/servers.ts';
import { describeReleaseRace } from '../race.contract.ts';
import { openEtcdArena, queueLayout, singleKeyLayout } from '../arenas/etcd-arenas.ts';

const lab = useLab({ system: 'etcd' });

// Ten thousand in all.
describeReleaseRace('an etcd queue of keys', () => openEtcdArena(lab.target, queueLayout), 8_000);
describeReleaseRace('a single etcd key', () => openEtcdArena(lab.target, singleKeyLayout), 2_000);
