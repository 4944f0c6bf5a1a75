/** What a check is: a pure judgement over facts that were read before, with its remedy. */
import type { CheckDescription, Judgement } from '../domain/audit-report.ts';
import type { Known } from '../domain/known.ts';
import type { LockSnapshot } from '../domain/lock.ts';
import type { EtcdFacts } from '../domain/etcd-facts.ts';
import type { RedisFacts } from '../domain/redis-facts.ts';
import type { ServerFacts } from '../domain/server-facts.ts';

/** A bounded sample of the locks of the target. */
export interface LockSample {
  readonly locks: readonly LockSnapshot[];
  /** Keys that were read to find them. */
  readonly read: number;
  /** Whether there is nothing beyond the sample. */
  readonly complete: boolean;
}

/** All that checks may look at. */
export interface AuditFacts<S extends ServerFacts = ServerFacts> {
  readonly server: S;
  readonly locks: Known<LockSample>;
}

/** What latencies and lock lives are measured against. */
export interface Limits {
  /** Lease that the locks are taken with: a pause of a tenth of it is too long. */
  readonly leaseMs: number;
}

/** A check of one kind of service, or with the default of every kind. */
export interface Check<S extends ServerFacts = ServerFacts> extends CheckDescription {
  /** No I/O, no clock; the same facts give the same judgement. */
  judge(facts: AuditFacts<S>, limits: Limits): Judgement;
}

export type RedisCheck = Check<RedisFacts>;
export type EtcdCheck = Check<EtcdFacts>;
