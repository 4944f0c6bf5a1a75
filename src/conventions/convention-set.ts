/**
 * The conventions that one adapter works with: a team's own first, then the built-in ones, most
 * specific first. What one of a team's own claims is not offered to the built-in ones. A context may
 * restrict them; whoever names one gets it all the same.
 */
import { UsageError } from '../domain/errors.ts';
import { globMatcher } from '../domain/glob.ts';
import type { ConventionId } from '../domain/lock.ts';
import { nearestName } from '../domain/nearest.ts';
import { stringToText } from '../domain/text.ts';
import type { EtcdConvention, RedisConvention, ZooKeeperConvention } from './convention.ts';

/** Conventions that a team describes in a file, by system. */
export interface OwnConventions {
  readonly redis: readonly RedisConvention[];
  readonly etcd: readonly EtcdConvention[];
  readonly zookeeper: readonly ZooKeeperConvention[];
}

export const noConventions: OwnConventions = { redis: [], etcd: [], zookeeper: [] };

export class ConventionSet<
  C extends {
    readonly id: ConventionId;
    readonly system: keyof OwnConventions;
    readonly forbidden?: string;
  },
> {
  readonly own: readonly C[];
  readonly builtIn: readonly C[];
  /** Those that records are read in. */
  readonly all: readonly C[];
  /** Also those that are left out: whose helper a key is does not depend on what is looked for. */
  readonly every: readonly C[];

  /**
   * @param only globs over ids; undefined: all. What must never be released stays in, so that it
   *   does not pass for something else.
   */
  constructor(own: readonly C[], builtIn: readonly C[], only?: readonly string[]) {
    const fits = globMatcher(only ?? ['*']);
    const isIn = ({ id, forbidden }: C): boolean =>
      forbidden !== undefined || fits(stringToText(id));
    this.own = own.filter(isIn);
    this.builtIn = builtIn.filter(isIn);
    this.all = [...this.own, ...this.builtIn];
    this.every = [...own, ...builtIn];
  }

  /**
   * The convention that somebody named.
   * @throws {UsageError} `unknown-convention`, with the nearest name or all of them
   */
  byId(id: ConventionId): C {
    const found = this.every.find((convention) => convention.id === id);
    if (found !== undefined) return found;
    const ids = this.every.map((convention) => convention.id);
    const near = nearestName(id, ids);
    const system = systemNames[this.every[0]?.system ?? 'redis'];
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
