/** The release race at length on etcd: each layout on one member and on three. */
import { describe } from 'vitest';
import { openEtcdArena, queueLayout, singleKeyLayout } from '../contract/arenas/etcd-arenas.ts';
import { describeReleaseRace } from '../contract/race.contract.ts';
import { soakRace } from '../contract/race-rounds.ts';
import { useLab } from '../helpers/servers.ts';

describe.each([1, 3])('%i members', (members) => {
  const cluster = useLab({ system: 'etcd', members });
  for (const [name, layout] of [
    ['an etcd queue of keys', queueLayout],
    ['a single etcd key', singleKeyLayout],
  ] as const) {
    const open = () => openEtcdArena(cluster.target, layout);
    describeReleaseRace(`${name}, members: ${members}`, open, soakRace);
  }
});
