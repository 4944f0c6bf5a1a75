/** Opens the adapter of a target: the only place that decides by the kind of a backend. */
import { UsageError } from '../domain/errors.ts';
import { displayTarget, type Target } from '../domain/target.ts';
import type { Backend, BackendOptions } from './backend.ts';

/**
 * Loads the one client library that the target needs and opens its adapter. Nothing is sent yet.
 * @throws {UsageError} `not-supported-yet`, or what the adapter says of the URL
 */
export async function openBackend(target: Target, options: BackendOptions): Promise<Backend> {
  switch (target.kind) {
    case 'redis': {
      const { openRedisBackend } = await import('./redis/redis-backend.ts');
      return openRedisBackend(target, options);
    }
    case 'etcd': {
      const { openEtcdBackend } = await import('./etcd/etcd-backend.ts');
      return openEtcdBackend(target, options);
    }
    case 'zookeeper': {
      const { openZooKeeperBackend } = await import('./zookeeper/zookeeper-backend.ts');
      return openZooKeeperBackend(target, options);
    }
    case 'redis-sentinel': {
      const { openSentinelBackend } = await import('./redis/redis-backend.ts');
      return openSentinelBackend(target, options);
    }
    case 'redis-cluster': {
      const { openClusterBackend } = await import('./redis/cluster-backend.ts');
      return openClusterBackend(target, options);
    }
    case 'redlock':
      throw new UsageError(`${displayTarget(target)}: ${target.kind} is not supported yet`, {
        code: 'not-supported-yet',
        hint: 'point fencepost at each of its servers with redis://host:port',
        definite: true,
      });
  }
}
