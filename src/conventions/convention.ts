/**
 * Conventions: how lock libraries lay out their records. Pure decoders over raw records that an
 * adapter read; no I/O. Adding one touches its file, the list of its system, a fixture and a README row.
 */
import type { Fence } from '../domain/fence.ts';
import type { Holder, Waiters } from '../domain/holder.ts';
import type { Known } from '../domain/known.ts';
import type { Lease } from '../domain/lease.ts';
import type { Confidence, ConventionId, LockMode, LockNote, LockState } from '../domain/lock.ts';
import type { Text } from '../domain/text.ts';

/** A Redis key as read, with the siblings that its conventions asked for. */
export interface RedisRecord extends RedisSibling {
  readonly system: 'redis';
  /** Records named by `siblings()`, already read; absent keys are missing. */
  readonly siblings: ReadonlyMap<Text, RedisSibling>;
  /** Server wall clock in epoch ms when read, for layouts that store absolute times. */
  readonly serverTimeMs: Known<number>;
}

export type RedisType = 'string' | 'hash' | 'list' | 'set' | 'zset' | 'stream' | 'other' | 'none';

export interface RedisSibling {
  readonly key: Text;
  /** `none`: there is no such key. */
  readonly type: RedisType;
  /** Undefined: no TTL. */
  readonly ttlMs: number | undefined;
  /** `type` string only; undefined otherwise, and when it was too big to be fetched. */
  readonly value?: Text;
  /** `type` hash only; undefined when there were too many to be fetched. */
  readonly fields?: ReadonlyMap<Text, Text>;
  /** Bytes of the string, or fields of the hash, that was too big to be fetched: no lock record. */
  readonly tooBig?: number;
  /**
   * list: members in order (siblings only); zset: member and score, by score; set: in no order.
   * Capped by the reader; of a record that a listing has just come upon only the first is there.
   */
  readonly members?: readonly { readonly member: Text; readonly score?: number }[];
  /** How many members there are, also when `members` was capped. */
  readonly memberCount?: number;
  /** Subscribers of a channel (PUBSUB NUMSUB), where the sibling is a channel. */
  readonly subscribers?: Known<number>;
  /** Clients that sleep in a blocking pop of any list, where that was asked for. */
  readonly blocked?: Known<number>;
}

/** All etcd keys of one candidate lock, by create revision. */
export interface EtcdRecord {
  readonly system: 'etcd';
  /** The lock's name: the prefix without its last slash, or the single key. */
  readonly name: Text;
  readonly keys: readonly EtcdKey[];
}

export interface EtcdKey {
  readonly key: Text;
  readonly value: Text;
  readonly createRevision: bigint;
  readonly modRevision: bigint;
  readonly version: bigint;
  /** 0 when the key hangs on no lease. */
  readonly lease: bigint;
}

/** One ZooKeeper parent with its children. */
export interface ZooKeeperRecord {
  readonly system: 'zookeeper';
  readonly path: Text;
  /** The parent itself; also the whole lock where a layout is one node without children. */
  readonly node: ZooKeeperChild;
  readonly cversion: number;
  readonly children: readonly ZooKeeperChild[];
  /** The lock at which waiters queue, where the convention has a gate and it was read. */
  readonly gate?: { readonly path: Text; readonly children: readonly ZooKeeperChild[] };
  /** This machine's wall clock in epoch ms when read: ZooKeeper tells no time. Undefined: not noted. */
  readonly readAtMs?: number;
}

export interface ZooKeeperChild {
  readonly name: Text;
  readonly data: Text;
  readonly czxid: bigint;
  readonly version: number;
  /** 0n for a persistent node. */
  readonly ephemeralOwner: bigint;
}

/**
 * How one child name reads in a layout. `sequence` is the unsigned reading of the server's counter,
 * so it goes on growing past 2147483647.
 */
export interface ContenderName {
  readonly kind: 'exclusive' | 'read' | 'write';
  readonly sequence: number;
}

export type LockRecord = RedisRecord | EtcdRecord | ZooKeeperRecord;

/** What a decoder says of a record. Leases come from the adapter, unless a holder's own differs. */
export interface Decoded {
  readonly state: LockState;
  readonly mode: LockMode;
  readonly holders: Known<readonly Holder[]>;
  readonly waiters: Waiters;
  readonly fence: Fence;
  readonly heldForMs: Known<number>;
  /** Where the layout keeps a lease of its own in the record; undefined: the adapter's word counts. */
  readonly lease?: Lease;
  readonly helpers: readonly Text[];
  readonly notes: readonly LockNote[];
  /** More exact than the convention's title, e.g. `Redisson fair lock`. */
  readonly title?: string;
  /** True when the owner value cannot tell two holders apart (constant, host name, timestamp). */
  readonly weakOwner: boolean;
}

/** Redis only: what a forced release does besides deleting, in the same script. */
export interface RedisRelease {
  /** Keys deleted together with the lock, if unchanged. */
  readonly alsoDelete: readonly Text[];
  /** Counter raised before the delete; never deleted. */
  readonly fenceKey: Text | undefined;
  readonly publish: readonly RedisMessage[];
  /** Commands on its helpers, in order, before anybody is told. */
  readonly tidy?: readonly RedisTidy[];
  /**
   * A queue whose members may have given up: heads whose time has passed are dropped (LPOP, ZREM),
   * and the head that is then first is told on `channel:<head>`.
   */
  readonly queue?: {
    readonly list: Text;
    readonly deadlines: Text;
    readonly channel: Text;
    readonly message: string;
  };
  /** List pushes that wake blocked waiters: DEL key, LPUSH value, PEXPIRE ttlMs. */
  readonly push: readonly { readonly key: Text; readonly value: string; readonly ttlMs: number }[];
  readonly warnings: readonly string[];
  /** What takes the lock's place with `--hold`, or why nothing can. */
  readonly hold: RedisHold;
  /** Stream that keeps the lock's history: the forced release (and the hold) are entered there. */
  readonly history?: {
    readonly key: Text;
    /** The stream is trimmed to about this many entries. */
    readonly maxLength: number;
    readonly released: readonly WordPair[];
    readonly held: readonly WordPair[];
  };
  /** The layout must never be force-released (counters, Patroni). */
  readonly forbidden?: string;
}

/** `count`: what the last INCRBY of `tidy` gave. Sharded: sent by SPUBLISH too, where the server can. */
export interface RedisMessage {
  readonly channel: Text;
  readonly message: string | { readonly put: 'count' };
  readonly sharded?: true;
  /** Only when nobody holds it any more. */
  readonly when?: 'emptied';
}

/** `DELIF`: deletes the key if its value is the argument. */
export interface RedisTidy {
  readonly command: 'DELIF' | 'INCRBY' | 'PEXPIRE' | 'ZREM';
  readonly key: Text;
  readonly argument: Text;
  /** Only when nobody holds it any more, or only when somebody does. Default: always. */
  readonly when?: 'emptied' | 'remaining';
}

/** What a release compares and takes away: the whole key, or one holder's part of it. */
export interface RedisGrant {
  readonly key: Text;
  readonly type: 'string' | 'hash' | 'zset' | 'set';
  /** The value; or field, value, field, value …; or members. All of it must be there unchanged. */
  readonly want: readonly Text[];
  /** Hash: no field besides may be there. */
  readonly exact: boolean;
  /** Taken away when others stay; undefined: the key goes. */
  readonly part?: {
    readonly remove: readonly Text[];
    /** Fields that hold nothing by themselves: when only they are left, the key goes. */
    readonly idle: readonly Text[];
  };
}

/** `string`: the owner token is the value. `hash`: these fields. */
export type RedisHold =
  | { readonly as: 'string' }
  | { readonly as: 'hash'; readonly fields: readonly WordPair[] }
  | { readonly as: 'nothing'; readonly reason: string };

/** A field and its value, as written by a release. */
export type WordPair = readonly [name: Word, value: Word];

/** A literal, or what only the moment of writing knows: the operator's owner token, the raised fence, … */
export type Word = { readonly text: Text } | { readonly put: 'owner' | 'fence' | 'now' | 'ttlMs' };

interface ConventionBase<R extends LockRecord> {
  readonly id: ConventionId;
  readonly title: string;
  readonly system: R['system'];
  /** What its records look like, for people: `<name>/<lease id>`, empty. */
  readonly recognises?: string;
  /** What a forced release tells its waiters; undefined: nothing, they poll or watch. */
  readonly wakes?: string;
  /** The layout must never be force-released, with the reason. */
  readonly forbidden?: string;
  /** How sure this record is in this layout, or undefined: not at all. Must not throw on any bytes. */
  matches(record: R): Confidence | undefined;
  /** Called only after `matches`, or when the caller forces this convention on a fitting type. */
  decode(record: R): Decoded;
}

export interface RedisSiblingRequest {
  readonly key: Text;
  /** `blocked`: how many clients sleep in a blocking pop, counted only for one lock in full. */
  readonly what: 'key' | 'channel' | 'blocked';
}

export interface RedisConvention extends ConventionBase<RedisRecord> {
  /** Types this layout can have; anything else is `wrong-type` even when forced. */
  readonly types: readonly RedisType[];
  /**
   * Hash fields that name the grant, where renewals change others; undefined: all fields together.
   * A release compares exactly these.
   */
  readonly grantFields?: readonly Text[];
  /** Keys (and channels) to read beside the record before `decode`; at most a hundred. */
  siblings(record: RedisSibling): readonly RedisSiblingRequest[];
  /** When `key` is a helper of another lock: that lock's key. Helpers are never listed. */
  helperOf(key: Text): Text | undefined;
  /** Helpers that are worth a row of their own when their lock is gone, e.g. a queue of waiters. */
  outlives?(helper: Text): boolean;
  /** Globs of the keys by which a listing finds locks whose name matches `pattern`, beside itself. */
  keysMatching?(pattern: Text): readonly Text[];
  /** The key of the lock that people call `name`, where they differ; the inverse of `nameOf`. */
  keyOf?(name: Text): Text;
  nameOf?(key: Text): Text | undefined;
  /**
   * Layouts with several holders, or whose grant is in a helper: the part of `holder`, as
   * `Holder.owner` shows it; without it the only one. Undefined: it holds nothing, or it is not
   * clear which of several is meant.
   */
  grantOf?(record: RedisRecord, holder: Text | undefined): RedisGrant | undefined;
  /** `holder` as in `grantOf`. */
  release(record: RedisRecord, decoded: Decoded, holder?: Text): RedisRelease;
}

export interface EtcdConvention extends ConventionBase<EtcdRecord> {
  /** `prefix`: contenders under `name/`; `key`: exactly one key. */
  readonly layout: 'prefix' | 'key';
  /** What a plan of a forced release says of this layout. */
  readonly warnings?: readonly string[];
}

export interface ZooKeeperConvention extends ConventionBase<ZooKeeperRecord> {
  /** How a child reads in this layout; undefined: not a contender. */
  contender(child: Text): ContenderName | undefined;
  /** Children that belong to the lock and contend for nothing, e.g. a breadcrumb. Never listed. */
  helper?(child: Text): boolean;
  /** Names hold a GUID, so the same name can never be created again. */
  readonly uniqueNames: boolean;
  /**
   * A listing reads names first. Whether, by these names, it is worth reading the data as well
   * before `matches` is asked again; undefined: names are enough to recognise and to order.
   */
  needsData?(names: ZooKeeperRecord): boolean;
  /** Where the lock is called otherwise than its node: `/sem` for the permits at `/sem/leases`. */
  nameOf?(path: Text): Text | undefined;
  /** The inverse of `nameOf`. */
  pathOf?(name: Text): Text;
  /** Semaphores: another lock is taken first, so its contenders are the waiters of this one. */
  readonly gate?: ZooKeeperGate;
  /** Data that frees the lock: written conditionally, as the library does, instead of deleting. */
  readonly freedBy?: Text;
  /** What a plan of a forced release says of this layout. */
  readonly warnings?: readonly string[];
}

/** The gate belongs to its semaphore: it is never listed while that one is there. */
export interface ZooKeeperGate {
  /** Path of the gate of the semaphore at `path`. */
  pathFor(path: Text): Text;
  /** Path of the semaphore whose gate is at `gate`; undefined: the path is nobody's gate. */
  semaphoreAt(gate: Text): Text | undefined;
  contender(child: Text): ContenderName | undefined;
}
