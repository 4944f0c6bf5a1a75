/** Asks for the remaining and the granted time of leases, a few at a time. */
import pLimit from 'p-limit';
import { FencepostError } from '../../domain/errors.ts';
import { unknown, known, type Known } from '../../domain/known.ts';
import type { Lease } from '../../domain/lease.ts';
import { bytesToText, type Text } from '../../domain/text.ts';
import type { EtcdLink } from '../../clients/etcd/link.ts';
import { leaseHex } from '../../conventions/etcd-queue.ts';

/** What the leader says of one lease. */
export type LeaseState =
  | {
      readonly kind: 'living';
      /** Whole seconds, rounded down by the server. */
      readonly ttlMs: number;
      readonly grantedMs: number;
      /** Keys that end with it; undefined when they were not asked for. */
      readonly keys: readonly Text[] | undefined;
      readonly raftTerm: bigint;
    }
  /** It expired or was revoked. */
  | { readonly kind: 'gone'; readonly raftTerm: bigint }
  | { readonly kind: 'unknown'; readonly reason: string };

const inFlight = 16;

/** @throws {FencepostError} when the cluster fails; a refusal is `unknown` */
export async function readLease(
  link: EtcdLink,
  lease: bigint,
  how: { readonly keys: boolean; readonly signal: AbortSignal },
): Promise<LeaseState> {
  const request = { ID: String(lease), keys: how.keys };
  try {
    const reply = await link.read(
      (api, options) => api.leaseClient.leaseTimeToLive(request, options),
      {
        signal: how.signal,
      },
    );
    const raftTerm = BigInt(reply.header.raft_term);
    // A lease past its end that is not yet revoked answers with a TTL of 0 or less.
    if (BigInt(reply.TTL) < 0n) return { kind: 'gone', raftTerm };
    return {
      kind: 'living',
      ttlMs: Number(reply.TTL) * 1000,
      grantedMs: Number(reply.grantedTTL) * 1000,
      keys: how.keys ? reply.keys.map(bytesToText) : undefined,
      raftTerm,
    };
  } catch (error) {
    if (!(error instanceof FencepostError)) throw error;
    if (error.code === 'lease-not-found') return { kind: 'gone', raftTerm: 0n };
    if (error.code !== 'permission-denied') throw error;
    // Newer servers tell a lease's keys only to those who may read them all.
    if (how.keys) return readLease(link, lease, { ...how, keys: false });
    return { kind: 'unknown', reason: 'this account may not ask for leases' };
  }
}

/** Asks for each lease once. */
export async function readLeases(
  link: EtcdLink,
  leases: Iterable<bigint>,
  how: { readonly keys: boolean; readonly signal: AbortSignal },
): Promise<ReadonlyMap<bigint, LeaseState>> {
  const limit = pLimit(inFlight);
  const wanted = [...new Set(leases)].filter((lease) => lease !== 0n);
  const states = await Promise.all(
    wanted.map((lease) => limit(async () => [lease, await readLease(link, lease, how)] as const)),
  );
  return new Map(states);
}

/**
 * Leases of a long listing, where one session has many locks: what the leader said a moment ago is
 * counted down instead of asked again. Keeps no more than a bounded number.
 */
export class LeaseMemory {
  readonly #link: EtcdLink;
  readonly #signal: AbortSignal;
  readonly #told = new Map<bigint, { readonly state: LeaseState; readonly atMs: number }>();

  constructor(link: EtcdLink, signal: AbortSignal) {
    this.#link = link;
    this.#signal = signal;
  }

  async read(leases: readonly bigint[]): Promise<ReadonlyMap<bigint, LeaseState>> {
    const nowMs = performance.now();
    const states = new Map<bigint, LeaseState>();
    for (const lease of leases) {
      const told = this.#told.get(lease);
      if (told !== undefined && nowMs - told.atMs < freshMs) {
        states.set(lease, later(told.state, nowMs - told.atMs));
      }
    }
    const asked = await readLeases(
      this.#link,
      leases.filter((lease) => !states.has(lease)),
      { keys: false, signal: this.#signal },
    );
    if (this.#told.size + asked.size > mostTold) this.#told.clear();
    for (const [lease, state] of asked) {
      states.set(lease, state);
      this.#told.set(lease, { state, atMs: nowMs });
    }
    return states;
  }
}

/** How long an answer is counted down: a renewal in this time is not seen. */
const freshMs = 5000;
const mostTold = 10_000;

function later(state: LeaseState, afterMs: number): LeaseState {
  if (state.kind !== 'living') return state;
  // Whole seconds, as the server gives them.
  const ttlMs = Math.max(0, state.ttlMs - Math.round(afterMs / 1000) * 1000);
  return { ...state, ttlMs };
}

/** A key's lease as the rest of fencepost sees it. `own`: the lock's keys, which are no others. */
export function toLease(
  lease: bigint,
  states: ReadonlyMap<bigint, LeaseState>,
  own: ReadonlySet<Text>,
): Lease {
  if (lease === 0n) return { kind: 'never' };
  const state = states.get(lease);
  if (state === undefined) return { kind: 'unknown', reason: 'not asked for in a listing' };
  if (state.kind === 'unknown') return state;
  if (state.kind === 'gone') {
    return { kind: 'unknown', reason: `lease ${leaseHex(lease)} ended while the lock was read` };
  }
  return {
    kind: 'ttl',
    ttlMs: Math.max(0, state.ttlMs),
    grantedMs: known(state.grantedMs),
    id: leaseHex(lease),
    shared: sharedKeys(state.keys, own),
  };
}

function sharedKeys(
  keys: readonly Text[] | undefined,
  own: ReadonlySet<Text>,
): Known<readonly Text[]> {
  return keys === undefined
    ? unknown('which other keys hang on this lease was not asked, or not told to this account')
    : known(keys.filter((key) => !own.has(key)));
}
