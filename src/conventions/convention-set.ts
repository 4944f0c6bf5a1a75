/**
 * The conventions that one adapter works with: a team's own first, then the built-in ones, most
 * specific first. What one of a team's own claims is not offered to the built-in ones.
 */
import { UsageError } from '../domain/errors.ts';
import type { ConventionId } from '../domain/lock.ts';
import { nearestName } from '../domain/nearest.ts';
import type { EtcdConvention, RedisConvention, ZooKeeperConvention } from './convention.ts';

/** Conventions that a team describes in a file, by system. */
export interface OwnConventions {
  readonly redis: readonly RedisConvention[];
  readonly etcd: readonly EtcdConvention[];
  readonly zookeeper: readonly ZooKeeperConvention[];
}

export const noConventions: OwnConventions = { redis: [], etcd: [], zookeeper: [] };

export class ConventionSet<
  C extends { readonly id: ConventionId; readonly system: keyof OwnConventions },
> {
  readonly own: readonly C[];
  readonly builtIn: readonly C[];
  readonly all: readonly C[];

  constructor(own: readonly C[], builtIn: readonly C[]) {
    this.own = own;
    this.builtIn = builtIn;
    this.all = [...own, ...builtIn];
  }

  /**
   * The convention that somebody named.
   * @throws {UsageError} `unknown-convention`, with the nearest name or all of them
   */
  byId(id: ConventionId): C {
    const found = this.all.find((convention) => convention.id === id);
    if (found !== undefined) return found;
    const ids = this.all.map((convention) => convention.id);
    const near = nearestName(id, ids);
    const system = systemNames[this.all[0]?.system ?? 'redis'];
    throw new UsageError(`"${id}" is no lock layout that is known on ${system}`, {
      code: 'unknown-convention',
      hint: near === undefined ? `known: ${ids.join(', ')}` : `did you mean "${near}"?`,
      definite: true,
    });
  }
}

/** As their makers write them. */
const systemNames: Readonly<Record<keyof OwnConventions, string>> = {
  redis: 'Redis',
  etcd: 'etcd',
  zookeeper: 'ZooKeeper',
};
