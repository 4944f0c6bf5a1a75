/**
 * What an audit reads of one Redis server, in one round of cheap commands. A command that was refused
 * leaves its fact unknown, with the permission that would answer it.
 */
import type { Known } from './known.ts';
import type { Text } from './text.ts';

/** The settings that are read, each by its own CONFIG GET. */
export const auditedSettings = [
  'maxmemory',
  'maxmemory-policy',
  'min-replicas-to-write',
  'min-replicas-max-lag',
  'appendonly',
  'appendfsync',
  'timeout',
  'tcp-keepalive',
  'bind',
  'slowlog-log-slower-than',
] as const;
export type AuditedSetting = (typeof auditedSettings)[number];

/** The slowest command that the slow log still has. */
export interface SlowCommand {
  readonly name: Text;
  readonly tookMs: number;
  /** Entries that were looked at. */
  readonly among: number;
}

export interface RedisFacts {
  readonly kind: 'redis';
  /** `host:port` that answered. */
  readonly server: string;
  /** ISO time of this machine at which the facts were read. */
  readonly at: string;
  /** Whether our own connection is encrypted. */
  readonly encrypted: boolean;
  /** Fields of INFO by name. */
  readonly info: Known<ReadonlyMap<string, Text>>;
  readonly settings: ReadonlyMap<AuditedSetting, Known<Text>>;
  readonly role: Known<'primary' | 'replica'>;
  /** The slowest recent command, or `none` when the slow log is empty. */
  readonly slowest: Known<SlowCommand | 'none'>;
  /** Whether everybody who reaches the server is its default user without a password. */
  readonly openToAll: Known<boolean>;
  /** The account of this audit, and whether it may write. */
  readonly account: Known<Text>;
  readonly mayWrite: Known<boolean>;
}
