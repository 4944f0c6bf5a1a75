/** Driver of throwaway servers: one lab for each cell, gone with it. */
import { parseTarget, type BackendKind } from '../../domain/target.ts';
import type { LabTopology } from '../../lab/lab.ts';
import { defaultMembers } from '../../lab/lab-spec.ts';
import { startLab } from '../../lab/start-lab.ts';
import type { Driver } from './driver.ts';
import { moveAddress, type MovedAddress } from './moved-address.ts';

/** A primary and its replicas. */
const membersWithReplicas = 3;

/** What the lab starts, by kind of target. Sentinel and Cluster always come with replicas. */
const topologies: Readonly<Record<BackendKind, LabTopology>> = {
  redis: 'redis',
  'redis-sentinel': 'redis-sentinel',
  'redis-cluster': 'redis-cluster',
  redlock: 'redlock',
  etcd: 'etcd',
  zookeeper: 'zookeeper',
};

/** @param env tells where servers and records are */
export function labDriver(env: Readonly<Record<string, string | undefined>>): Driver {
  return {
    async open(kind, replicas, signal) {
      const system = topologies[kind];
      const members =
        system === 'redis' && replicas > 0 ? membersWithReplicas : defaultMembers(system);
      const lab = await startLab({ system, members, tls: false, options: {} }, { env, signal });
      const moved: MovedAddress[] = [];
      return {
        target: parseTarget(lab.target),
        throwaway: true,
        logs: lab.servers.map(({ name, logFile }) => ({ name, file: logFile })),
        servers: {
          all: lab.servers.map(({ name, host, port }) => ({ name, endpoint: { host, port } })),
          kill: (name) => lab.kill(name),
          moveAddress: async (from, to) => {
            moved.push(await moveAddress(from, to));
          },
        },
        adopt: (group) => {
          lab.adopt(group);
        },
        close: async () => {
          await Promise.all(moved.splice(0).map((one) => one.close()));
          await lab.stop();
        },
      };
    },
  };
}
