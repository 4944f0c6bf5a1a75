/** What every operation on etcd locks works with. */
import type { EtcdLink } from '../../clients/etcd/link.ts';
import type { EtcdConventions } from './recognise.ts';

export interface EtcdWorld {
  readonly link: EtcdLink;
  readonly conventions: EtcdConventions;
}
