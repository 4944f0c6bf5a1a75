/** Every convention that fencepost knows, built in or a team's own: for lists, completion and checks. */
import type { OwnConventions } from '../conventions/convention-set.ts';
import type {
  EtcdConvention,
  RedisConvention,
  ZooKeeperConvention,
} from '../conventions/convention.ts';
import { etcdConventions } from '../conventions/etcd-index.ts';
import { redisConventions } from '../conventions/redis-index.ts';
import { zookeeperConventions } from '../conventions/zookeeper-index.ts';
import { UsageError } from '../domain/errors.ts';
import { unrecognised, type ConventionId } from '../domain/lock.ts';
import { nearestName } from '../domain/nearest.ts';

export type KnownConvention = RedisConvention | EtcdConvention | ZooKeeperConvention;

export const builtInConventions: OwnConventions = {
  redis: redisConventions,
  etcd: etcdConventions,
  zookeeper: zookeeperConventions,
};

/** A team's own first, as they are asked; by system. */
export function allConventions(own: OwnConventions): readonly KnownConvention[] {
  return [
    ...[...own.redis, ...builtInConventions.redis],
    ...[...own.etcd, ...builtInConventions.etcd],
    ...[...own.zookeeper, ...builtInConventions.zookeeper],
  ];
}

/**
 * Refuses names that no convention of any system has: a listing restricted to one would be empty,
 * and say nothing of why.
 * @throws {UsageError} `unknown-convention`
 */
export function checkConventionNames(ids: readonly ConventionId[], own: OwnConventions): void {
  const known = [...new Set(allConventions(own).map(({ id }) => id)), unrecognised];
  const wrong = ids.find((id) => !known.includes(id));
  if (wrong === undefined) return;
  const near = nearestName(wrong, known);
  throw new UsageError(`"${wrong}" is no lock layout that is known`, {
    code: 'unknown-convention',
    hint: near === undefined ? '`fencepost conventions` lists them all' : `did you mean "${near}"?`,
    definite: true,
  });
}
