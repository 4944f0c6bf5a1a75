/**
 * One etcd key on a lease, created only where there is none: what the npm package etcd3 calls a
 * lock, with the owner token as the value. It has no queue, and its users take no number from it,
 * so nothing stops the late write of a paused owner.
 */
import type { IKeyValue } from 'etcd3';
import type { OwnerToken } from '../domain/holder.ts';
import { bytesToText } from '../domain/text.ts';
import type { EtcdLink } from '../clients/etcd/link.ts';
import {
  bytesOf,
  dropLease,
  etcdDefiniteCodes,
  etcdWire,
  grantLease,
  keepAlive,
  LossWatch,
  nameBytes,
  openEtcdLink,
  recordRelease,
  sendOnce,
  timeLeft,
  transact,
  type Granted,
} from './etcd-client.ts';
import { etcdInterventions } from './etcd-interventions.ts';
import { observeEtcdLocks } from './etcd-observer.ts';
import { notOwner } from './failure.ts';
import {
  noFence,
  type AcquireRequest,
  type Grant,
  type LockClient,
  type LockProtocol,
  type MutationRole,
  type ProtocolContext,
  type Reply,
} from './protocol.ts';
import { pollWhileBusy } from './poll.ts';

export const etcdSingleKey: LockProtocol = {
  id: 'etcd-single-key',
  title: 'one etcd key on a lease, no fence',
  family: 'etcd',
  fenced: false,
  fenceSource: undefined,
  expiryGranularityMs: 2000,
  definiteCodes: etcdDefiniteCodes,
  mutations: {
    'release-without-owner-check': 'variant',
    'renew-without-owner-check': {
      prevented: "a renewal names the lease of one owner and cannot lengthen another's",
    },
    'fence-does-not-grow': noFence,
    'fence-outside-the-atomic-step': noFence,
    'renew-drops-ttl': 'variant',
    'check-then-delete': 'variant',
  },
  wire: etcdWire,
  interventions: etcdInterventions('key'),
  async connect(context) {
    return new EtcdSingleKeyClient(await openEtcdLink(context), context);
  },
  observe: (context) => observeEtcdLocks(context, 'key'),
};

class EtcdSingleKeyClient implements LockClient {
  readonly #link: EtcdLink;
  readonly #timeoutMs: number;
  readonly #mutation: MutationRole | undefined;
  readonly #random: () => number;
  readonly #losses: LossWatch;
  /** Leases of our own grants, by owner token: the grant itself does not carry it. */
  readonly #leases = new Map<string, bigint>();

  constructor(link: EtcdLink, context: ProtocolContext) {
    this.#link = link;
    this.#timeoutMs = context.requestTimeoutMs;
    this.#mutation = context.mutation;
    this.#random = context.random ?? Math.random;
    this.#losses = new LossWatch(link, context.requestTimeoutMs);
  }

  acquire(request: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    return pollWhileBusy(() => this.#tryOnce(request), request.waitMs, this.#random);
  }

  async #tryOnce(request: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    const granted = await grantLease(this.#link, request.leaseMs);
    if (granted.outcome !== 'ok') return granted;
    const { lease } = granted;
    const key = nameBytes(request.lock);
    const value = bytesOf(request.owner);
    const sent = await transact(this.#link, {
      compare: [{ key, target: 'Create', result: 'Equal', create_revision: '0' }],
      success: [{ request_put: { key, value, lease: String(lease) } }],
      failure: [],
    });
    if (sent.outcome === 'ok' && sent.held) {
      return this.#granted(request, granted, BigInt(sent.reply.header.revision));
    }
    if (sent.outcome === 'unknown') return sent;
    await dropLease(this.#link, lease);
    return sent.outcome === 'ok' ? { outcome: 'fail', code: 'busy' } : sent;
  }

  async #granted(
    { lock, owner }: AcquireRequest,
    { lease, ttlMs: grantedTtlMs, sentNs }: Granted,
    revision: bigint,
  ): Promise<Reply<{ grant: Grant }>> {
    const validUntilNs = sentNs + BigInt(grantedTtlMs) * 1_000_000n;
    const grant = { owner, fence: undefined, grantedTtlMs, validUntilNs, record: lock };
    this.#leases.set(owner, lease);
    await this.#losses.begin(lock, grant, revision);
    return { outcome: 'ok', grant };
  }

  async confirm(request: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    const sentNs = process.hrtime.bigint();
    const held = await this.#held(request.lock, request.owner);
    if (held.outcome !== 'ok') return held;
    const lease = BigInt(held.key.lease);
    const left = await timeLeft(this.#link, lease);
    if (left.outcome !== 'ok') return left;
    if (left.ttlMs === undefined) return notOwner();
    return this.#granted(request, { lease, ttlMs: left.ttlMs, sentNs }, held.revision);
  }

  /** The key, if it is this owner's, and the revision of the look. */
  async #held(
    lock: string,
    owner: OwnerToken,
  ): Promise<Reply<{ readonly key: IKeyValue; readonly revision: bigint }>> {
    const sent = await transact(this.#link, {
      compare: [],
      success: [{ request_range: { key: nameBytes(lock) } }],
      failure: [],
    });
    if (sent.outcome !== 'ok') return sent;
    const [key] = sent.reply.responses[0]?.response_range.kvs ?? [];
    if (key === undefined || bytesToText(key.value) !== owner) return notOwner();
    return { outcome: 'ok', key, revision: BigInt(sent.reply.header.revision) };
  }

  async renew(lock: string, grant: Grant): Promise<Reply<{ grantedTtlMs: number }>> {
    const lease = this.#leases.get(grant.owner);
    if (lease === undefined || this.#losses.hasLost(grant)) return notOwner();
    if (this.#mutation === 'renew-drops-ttl') return this.#putWithoutLease(lock, grant);
    const reply = await keepAlive(this.#link, lease, this.#timeoutMs);
    if (reply.outcome === 'fail' && reply.code === 'not-owner') {
      this.#losses.lose(lock, grant, 'the lease has ended');
    }
    return reply;
  }

  /** The broken variant: a plain put detaches the key from its lease. */
  async #putWithoutLease(lock: string, grant: Grant): Promise<Reply<{ grantedTtlMs: number }>> {
    const request = { key: nameBytes(lock), value: bytesOf(grant.owner) };
    const sent = await sendOnce(this.#link, (api, options) => api.kv.put(request, options));
    return sent.outcome === 'ok' ? { outcome: 'ok', grantedTtlMs: grant.grantedTtlMs } : sent;
  }

  async release(lock: string, grant: Grant): Promise<Reply<object>> {
    this.#losses.end(grant);
    if (this.#mutation === 'release-without-owner-check') return this.#deleteByName(lock);
    if (this.#mutation === 'check-then-delete') {
      const mine = await this.#held(lock, grant.owner);
      return mine.outcome === 'ok' ? this.#deleteByName(lock) : mine;
    }
    const key = nameBytes(lock);
    const sent = await transact(this.#link, {
      compare: [{ key, target: 'Value', result: 'Equal', value: bytesOf(grant.owner) }],
      success: [{ request_delete_range: { key } }, recordRelease(lock, grant.owner)],
      failure: [],
    });
    if (sent.outcome !== 'ok') return sent;
    return sent.held ? { outcome: 'ok' } : notOwner();
  }

  /** The broken variant: whoever holds it. */
  async #deleteByName(lock: string): Promise<Reply<object>> {
    const request = { key: nameBytes(lock) };
    const sent = await sendOnce(this.#link, (api, options) => api.kv.deleteRange(request, options));
    return sent.outcome === 'ok' ? { outcome: 'ok' } : sent;
  }

  onLost(listener: (lock: string, reason: string) => void): void {
    this.#losses.onLost(listener);
  }

  close(): Promise<void> {
    this.#losses.close();
    this.#link.close();
    return Promise.resolve();
  }
}
