/** What an audit reads of a lock service, by the kind of service: one shape for each. */
import type { RedisFacts } from './redis-facts.ts';

export type ServerFacts = RedisFacts;
export type ServerKind = ServerFacts['kind'];
export type FactsOf<K extends ServerKind> = Extract<ServerFacts, { readonly kind: K }>;
