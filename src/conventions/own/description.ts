/** What a team says of its own locks; the functions beside this file make conventions of it. */
import type { Confidence, ConventionId } from '../../domain/lock.ts';
import type { Text } from '../../domain/text.ts';
import type { Template } from './template.ts';

/** Capture that stands for the whole key, in templates of its helpers and messages. */
export const wholeKey = 'key';

interface Common {
  readonly id: ConventionId;
  readonly title: string;
  /** Keys (etcd names, ZooKeeper paths) in this layout. */
  readonly key: Template;
  readonly owner: OwnerSource;
  readonly confidence: Confidence;
  /** Why it must never be force-released; undefined: it may. */
  readonly neverRelease: string | undefined;
  /** What a plan of a forced release says. */
  readonly warnings: readonly string[];
}

/** Where the owner stands in the record, and how it reads. */
export interface OwnerSource {
  /** A field of the hash; undefined: the value (data). */
  readonly field: Text | undefined;
  /** Way to a string or number in a JSON document; undefined: all of it. */
  readonly json: readonly string[] | undefined;
  /** Captures `owner`, `host`, `pid` and `thread`; undefined: all of it is the owner. */
  readonly pattern: Template | undefined;
}

export interface OwnRedis extends Common {
  readonly system: 'redis';
  readonly type: 'string' | 'hash';
  /** Hash fields that name the grant, where renewals change others. */
  readonly grantFields: readonly Text[] | undefined;
  /** Key of the fencing counter. */
  readonly fence: Template | undefined;
  /** What its library does for its waiters, in order. */
  readonly wake: readonly Wake[];
}

export type Wake =
  | { readonly publish: Template; readonly message: Template; readonly sharded: boolean }
  | { readonly push: Template; readonly value: Template; readonly ttlMs: number };

export interface OwnEtcd extends Common {
  readonly system: 'etcd';
  /** `key`: one key. `queue`: contenders `<name>/<lease id in hex>`. */
  readonly type: 'key' | 'queue';
}

export interface OwnZooKeeper extends Common {
  readonly system: 'zookeeper';
  /** `node`: one node. `queue`: sequential children of it. */
  readonly type: 'node' | 'queue';
  /** `queue` only: names of the contenders, without the sequence. */
  readonly contender: Template | undefined;
}

export type OwnDescription = OwnRedis | OwnEtcd | OwnZooKeeper;
