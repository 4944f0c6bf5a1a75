/** What an audit reads of a lock service, by the kind of service: one shape for each. */
import type { EtcdFacts } from './etcd-facts.ts';
import type { RedisFacts } from './redis-facts.ts';

export type ServerFacts = RedisFacts | EtcdFacts;
export type ServerKind = ServerFacts['kind'];
export type FactsOf<K extends ServerKind> = Extract<ServerFacts, { readonly kind: K }>;
