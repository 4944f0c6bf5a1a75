/** Opens the link that fits a Redis target: one server, Sentinel, or Cluster. */
import { UsageError } from '../domain/errors.ts';
import { displayTarget, reachableAt, type NatEntry } from '../domain/target.ts';
import { openClusterLink } from './redis-cluster-link.ts';
import { serverLink, type LinkOptions, type RedisLink } from './redis-link.ts';
import { openSentinelLink } from './redis-sentinel-link.ts';

/**
 * Opens and authenticates the first connections.
 * @throws {UsageError} `protocol-target` when the target is of another kind
 * @throws {TargetError} `target-unreachable` @throws {PermissionError} `target-refused`
 */
export async function openRedisLink(options: LinkOptions): Promise<RedisLink> {
  const { target } = options;
  switch (target.kind) {
    case 'redis': {
      const link = serverLink(options, target.endpoints[0]);
      const failure = await link.open();
      if (failure === undefined) return link;
      throw failure;
    }
    case 'redis-sentinel':
      return openSentinelLink(options);
    case 'redis-cluster':
      return openClusterLink(options);
    case 'redlock':
    case 'etcd':
    case 'zookeeper':
      throw new UsageError(`${displayTarget(target)} is no Redis with one lock server`, {
        code: 'protocol-target',
        hint: 'this protocol runs on redis://, redis+sentinel:// and redis+cluster:// targets',
        definite: true,
      });
  }
}

/** Where Sentinel or Cluster send a client; nowhere for a single server. */
export async function redisServers(options: LinkOptions): Promise<readonly NatEntry[]> {
  const link = await openRedisLink(options);
  try {
    return (await link.announced()).map((announced) => ({
      announced,
      reachable: reachableAt(options.target, announced),
    }));
  } finally {
    link.close();
  }
}
