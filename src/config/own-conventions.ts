/** Descriptions in, conventions out, by system and in the order of the file. */
import type { OwnConventions } from '../conventions/convention-set.ts';
import type { OwnDescription } from '../conventions/own/description.ts';
import { ownEtcd } from '../conventions/own/own-etcd.ts';
import { ownRedis } from '../conventions/own/own-redis.ts';
import { ownZooKeeper } from '../conventions/own/own-zookeeper.ts';

export function toConventions(descriptions: readonly OwnDescription[]): OwnConventions {
  return {
    redis: descriptions.flatMap((one) => (one.system === 'redis' ? [ownRedis(one)] : [])),
    etcd: descriptions.flatMap((one) => (one.system === 'etcd' ? [ownEtcd(one)] : [])),
    zookeeper: descriptions.flatMap((one) =>
      one.system === 'zookeeper' ? [ownZooKeeper(one)] : [],
    ),
  };
}
