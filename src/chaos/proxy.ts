/**
 * Proxies: one per worker and server endpoint. They know where requests and replies begin and end,
 * so that exactly one can be swallowed, and count every byte, so that what they did can be proven.
 * This file is the contract; tcp-proxy.ts implements it for byte streams split by a `Framing`.
 */
import type { ConnectionOptions } from 'node:tls';
import type { Evidence } from '../domain/evidence.ts';
import type { Endpoint } from '../domain/target.ts';
import type { Framing } from './framing.ts';

/** `to-server`: requests. `to-worker`: replies. */
export type Direction = 'to-server' | 'to-worker';

export interface DirectionCounters {
  readonly bytesIn: number;
  readonly bytesForwarded: number;
  readonly bytesDropped: number;
  readonly framesIn: number;
  readonly framesDropped: number;
}

/**
 * Drops exactly one request or reply. Where clients take replies in order (Redis, ZooKeeper), later
 * replies on that same connection are held back too, or one would pass for the missing one; the
 * worker's next connection is untouched.
 */
export interface SwallowRule {
  /** A swallowed request never reaches the server; a swallowed reply's request did. */
  readonly what: 'request' | 'reply';
  /** Only exchanges whose request is this action, as the protocol's `wire` classifies it. */
  readonly action: 'acquire' | 'confirm' | 'renew' | 'release' | 'write' | undefined;
  /** 1: the first that matches after arming. */
  readonly nth: number;
}

export type RequestAction = NonNullable<SwallowRule['action']>;

/** The exchange that a rule hit. */
export interface Swallowed {
  readonly rule: SwallowRule;
  readonly requestBytesForwarded: number;
  readonly replyBytesReceived: number;
  readonly replyBytesForwarded: number;
  /** Monotonic ns when the frame was dropped. */
  readonly atNs: bigint;
}

export interface ArmedSwallow {
  /** Settles when the rule hit; undefined after `disarm` or close. */
  readonly hit: Promise<Swallowed | undefined>;
  disarm(): void;
}

export interface WorkerProxy {
  readonly name: string;
  /** What the worker connects to. */
  readonly endpoint: Endpoint;
  readonly upstream: Endpoint;
  arm(rule: SwallowRule): ArmedSwallow;
  /** Drops all bytes of one way, or both, until healed. Connections stay open; new ones connect. */
  cut(way: Direction | 'both'): void;
  /** Adds a delay to every frame of one way; 0 ends it. Order is kept. */
  delay(way: Direction, delayMs: number): void;
  /**
   * Ends cuts and delays. Connections that lost bytes are closed: they are out of step.
   */
  heal(): void;
  counters(way: Direction): DirectionCounters;
  /** Local addresses of our connections to the server: what the server must see as its clients. */
  upstreamAddresses(): readonly string[];
  /** What was done so far, as proof; one entry per swallowed frame, cut and delay. */
  evidence(): readonly Evidence[];
  close(): Promise<void>;
}

export interface TcpProxyOptions {
  /** For evidence, e.g. `A to redis`. */
  readonly name: string;
  readonly upstream: Endpoint;
  /** Speak TLS to the server; the worker always speaks clear text on loopback. */
  readonly tls: ConnectionOptions | undefined;
  readonly framing: Framing;
  /** Which operation a request frame carries out; undefined for handshakes, pings, reads. */
  readonly requestAction: (frame: Uint8Array) => RequestAction | undefined;
  /** Monotonic ns at which the run began: times in evidence count from there. */
  readonly originNs: bigint;
}
