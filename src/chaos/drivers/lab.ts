/** Driver of throwaway servers: one lab for each cell, gone with it. */
import { UsageError } from '../../domain/errors.ts';
import { parseTarget, type BackendKind } from '../../domain/target.ts';
import type { LabTopology } from '../../lab/lab.ts';
import { defaultMembers } from '../../lab/lab-spec.ts';
import { startLab } from '../../lab/start-lab.ts';
import type { Driver } from './driver.ts';

/** A primary and its replicas. */
const membersWithReplicas = 3;

/** What the lab starts, by kind of target. */
const topologies: Readonly<Partial<Record<BackendKind, LabTopology>>> = {
  redis: 'redis',
  redlock: 'redlock',
  etcd: 'etcd',
  zookeeper: 'zookeeper',
};

/** @param env tells where servers and records are */
export function labDriver(env: Readonly<Record<string, string | undefined>>): Driver {
  return {
    async open(kind, replicas, signal) {
      const system = topologies[kind];
      if (system === undefined) {
        throw new UsageError(`the lab cannot start a ${kind}`, {
          code: 'unknown-system',
          hint: `it starts ${Object.values(topologies).join(', ')}`,
          definite: true,
        });
      }
      const members = replicas > 0 ? membersWithReplicas : defaultMembers(system);
      const lab = await startLab({ system, members, tls: false, options: {} }, { env, signal });
      return {
        target: parseTarget(lab.target),
        throwaway: true,
        adopt: (group) => {
          lab.adopt(group);
        },
        close: () => lab.stop(),
      };
    },
  };
}
