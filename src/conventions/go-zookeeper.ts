/**
 * go-zookeeper's Lock: like Curator's mutex, but the GUID is 32 hex digits without dashes and the
 * node is usually empty.
 * @see go-zookeeper/zk@6d30b8b lock.go
 */
import { sequenceSuffix } from '../domain/zookeeper-sequence.ts';
import { queueConvention } from './zookeeper-layout.ts';

export const goZookeeperLock = queueConvention({
  id: 'go-zookeeper',
  title: 'go-zookeeper lock',
  recognises: '_c_<32 hex>-lock-<seq>',
  child: new RegExp(`^_c_[0-9a-f]{32}-lock-${sequenceSuffix}`),
  confidence: 'high',
  uniqueNames: true,
});
