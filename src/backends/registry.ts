/** Opens the adapter of a target: the only place that decides by the kind of a backend. */
import type { Target } from '../domain/target.ts';
import type { Backend, BackendOptions } from './backend.ts';

/**
 * Loads the one client library that the target needs and opens its adapter. Nothing is sent yet.
 * @throws {UsageError} what the adapter says of the URL
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
    case 'redlock': {
      const { openRedlockBackend } = await import('./redis/redlock-backend.ts');
      return openRedlockBackend(target, options);
    }
  }
}
