/**
 * Lock clients that scenarios use: one well-defined way of taking, renewing and releasing a lock,
 * with or without a fence, each with deliberately broken variants for controls; and the observer
 * that reads the same lock from the outside, on its own direct connection.
 * One contract suite (test/contract/protocol.contract.ts) runs against every protocol.
 */
import type { FencingToken } from '../domain/fence.ts';
import type { OwnerToken } from '../domain/holder.ts';
import type { NatEntry, Target } from '../domain/target.ts';

/** Mutation roles that scenarios name in `controls`. */
export const mutationRoles = [
  'release-without-owner-check',
  'renew-without-owner-check',
  'fence-does-not-grow',
  'fence-outside-the-atomic-step',
  'renew-drops-ttl',
  'check-then-delete',
] as const;
export type MutationRole = (typeof mutationRoles)[number];

/** Why a lock without a fence has no variant with a broken one. */
export const noFence = { prevented: 'the layout has no fence at all' } as const;

/** Outcome of one request. `code` is stable; one not listed in `definiteCodes` of its protocol is unknown. */
export type Reply<T> =
  | ({ readonly outcome: 'ok' } & T)
  | { readonly outcome: 'fail'; readonly code: string; readonly detail?: string }
  | { readonly outcome: 'unknown'; readonly code: string; readonly detail?: string };

export interface Grant {
  readonly owner: OwnerToken;
  /** Undefined in protocols without a fence. */
  readonly fence: FencingToken | undefined;
  /** Lease really granted, read back from the server, in ms. */
  readonly grantedTtlMs: number;
  /** Holder's own deadline: process.hrtime ns at the first send of the acquire plus the lease. */
  readonly validUntilNs: bigint;
  /** Server record of this grant (key, etcd key, node path). */
  readonly record: string;
}

export interface AcquireRequest {
  readonly lock: string;
  readonly owner: OwnerToken;
  readonly leaseMs: number;
  /** 0: try once. Otherwise wait in the protocol's own way (queue, poll) up to this long. */
  readonly waitMs: number;
}

/** One worker's client. No hidden retries: one call is one request on the wire. */
export interface LockClient {
  acquire(request: AcquireRequest): Promise<Reply<{ grant: Grant }>>;
  /** A fresh read with the same owner token: ok when the record is ours and valid. */
  confirm(request: AcquireRequest): Promise<Reply<{ grant: Grant }>>;
  renew(lock: string, grant: Grant, leaseMs: number): Promise<Reply<{ grantedTtlMs: number }>>;
  /** fail `not-owner` when the record is gone or another's. */
  release(lock: string, grant: Grant): Promise<Reply<object>>;
  /** Called when the service tells that lease or session is lost. */
  onLost(listener: (lock: string, reason: string) => void): void;
  close(): Promise<void>;
}

/** One grant as the service itself recorded it. */
export interface ObservedGrant {
  readonly owner: OwnerToken;
  readonly fence: FencingToken | undefined;
  /** Position in the service's own order of events of this lock. */
  readonly order: bigint;
}

export type ObservedState =
  | {
      readonly kind: 'absent';
      /** Independent servers: who has it on too few of them, one sentence. */
      readonly partial?: string;
    }
  | {
      readonly kind: 'held';
      readonly owner: OwnerToken;
      readonly fence: FencingToken | undefined;
      /** Left by the server's clock; undefined when the server cannot say (ZooKeeper). */
      readonly ttlMs: number | undefined;
      readonly record: string;
    };

/** Service-side facts about how one grant ended. */
export interface ObservedEnd {
  readonly owner: OwnerToken;
  readonly cause: 'released' | 'expired' | 'removed-early' | 'session-ended' | 'unknown';
  readonly order: bigint | undefined;
  /** What the server showed, one sentence. */
  readonly witness: string;
}

/** Connections as one server sees them. */
export interface ServerConnections {
  /** `host:port` as reached from here. */
  readonly server: string;
  /** Client ends; undefined when this server does not tell. */
  readonly addresses: readonly string[] | undefined;
}

/** Reads the lock from the outside. Never shares a connection or a proxy with a worker. */
export interface LockObserver {
  /** Server's own monotonic-enough clock in ms (Redis TIME), if it has one. */
  serverTimeMs(): Promise<number | undefined>;
  state(lock: string): Promise<ObservedState>;
  /** Every grant so far, in the service's order. */
  grants(lock: string): Promise<readonly ObservedGrant[]>;
  /** How the grant of `owner` ended, once `state` no longer shows it. */
  end(lock: string, owner: OwnerToken): Promise<ObservedEnd>;
  /** Addresses of the client connections the servers see, to prove that workers go through proxies. */
  clientAddresses(): Promise<readonly string[] | undefined>;
  /**
   * The connections that call themselves `clientName`, on every server that a client may be
   * connected to; absent where connections have no names.
   */
  connectionsOf?(clientName: string): Promise<readonly ServerConnections[]>;
  /** Removes every record under this run's prefix. */
  cleanUp(prefix: string): Promise<void>;
  close(): Promise<void>;
}

export interface ProtocolContext {
  readonly target: Target;
  /** Per-request deadline. */
  readonly requestTimeoutMs: number;
  readonly clientName: string;
  /** The broken variant to run as, if this is a control. */
  readonly mutation: MutationRole | undefined;
  /** Draws in [0, 1) for poll jitter; seeded in runs. Default `Math.random`. */
  readonly random?: () => number;
}

/** One request as a proxy sees it on its way to the server. */
export interface WireRequest {
  /** The whole frame. */
  readonly bytes: Uint8Array;
  /** HTTP/2 only: the gRPC path. */
  readonly path?: string;
}

/** What a proxy must know to swallow exactly one exchange of a protocol. */
export interface WireFormat {
  readonly framing: 'resp' | 'zookeeper' | 'grpc';
  /** Which lock operation this request carries out; undefined: none (handshake, ping, watch). */
  requestAction(request: WireRequest): 'acquire' | 'confirm' | 'renew' | 'release' | undefined;
}

/** What whoever has access to the server can do to a hold, past its holder. */
export const interventionNames = ['remove-record', 'revoke-lease', 'expire-session'] as const;
export type InterventionName = (typeof interventionNames)[number];

/** What the server itself showed of an intervention. */
export interface ServerShown {
  readonly fact: string;
  readonly proves: string;
  readonly holds: boolean;
}

/**
 * Acts on the present hold of `owner`, by a connection of its own, and on nothing else.
 * @returns undefined when the server shows no such hold: nothing was done
 * @throws {FencepostError} when the server could not be reached or refused
 */
export type Intervention = (
  context: Omit<ProtocolContext, 'mutation'>,
  lock: string,
  owner: OwnerToken,
) => Promise<ServerShown | undefined>;

export interface LockProtocol {
  readonly id: string;
  readonly title: string;
  /** `redis`, `etcd`, `zookeeper`: which targets it runs on. */
  readonly family: string;
  readonly fenced: boolean;
  /** Where the fence lives, for reports; undefined without one. */
  readonly fenceSource: string | undefined;
  /** Expiry granularity of the server in ms, added to bounds (etcd: lease floor, ZooKeeper: tick). */
  readonly expiryGranularityMs: number;
  /** Codes after which the server surely did nothing. */
  readonly definiteCodes: readonly string[];
  /** Replicas of the server that it cannot do without. Default: none. */
  readonly replicas?: number;
  /** Codes that say that too few of them confirmed in time; every one in a run is counted. */
  readonly shortfallCodes?: readonly string[];
  /** Each mutation role: a broken variant exists, or why the layout rules it out. */
  readonly mutations: Readonly<Record<MutationRole, 'variant' | { readonly prevented: string }>>;
  /** How it looks on the wire. Without it lost replies and requests cannot be aimed at it. */
  readonly wire?: WireFormat;
  /** Servers to which those of the target send a client. Default: none. */
  servers?(context: Omit<ProtocolContext, 'mutation'>): Promise<readonly NatEntry[]>;
  /** Those that this service and layout have. */
  readonly interventions?: Readonly<Partial<Record<InterventionName, Intervention>>>;
  connect(context: ProtocolContext): Promise<LockClient>;
  observe(context: Omit<ProtocolContext, 'mutation'>): Promise<LockObserver>;
}
