/**
 * The etcd lease lock: a queue of keys `lock/<lease id in hex>`, each with its owner token as the
 * value and on a lease of its own. The key created first holds, its create revision is the fence,
 * and every other contender waits for the one before it. The layout is that of Go's election, so
 * `etcdctl` and Go programs can see it. Locks must not nest: `a` and `a/b` would wait for each other.
 */
import type { IKeyValue, ITxnResponse } from 'etcd3';
import type { OwnerToken } from '../domain/holder.ts';
import { bytesToText } from '../domain/text.ts';
import type { EtcdLink } from '../clients/etcd/link.ts';
import { openWatch } from '../clients/etcd/watch.ts';
import {
  bytesOf,
  dropLease,
  etcdDefiniteCodes,
  etcdWire,
  failure,
  firstCreated,
  grantLease,
  hex,
  keepAlive,
  leaseOf,
  LossWatch,
  nameBytes,
  openEtcdLink,
  prefixEnd,
  recordRelease,
  sendOnce,
  timeLeft,
  transact,
  untilDeleted,
  type Granted,
} from './etcd-client.ts';
import { etcdInterventions } from './etcd-interventions.ts';
import { observeEtcdLocks } from './etcd-observer.ts';
import { WaitingLease } from './etcd-waiting-lease.ts';
import { notOwner } from './failure.ts';
import type {
  AcquireRequest,
  Grant,
  LockClient,
  LockProtocol,
  MutationRole,
  ProtocolContext,
  Reply,
} from './protocol.ts';

export const etcdLease: LockProtocol = {
  id: 'etcd-lease',
  title: 'etcd queue of leased keys, create revision as fence',
  family: 'etcd',
  fenced: true,
  fenceSource: "create revision of the holder's key",
  // The server grants two seconds at least, counts in whole seconds, and looks twice a second.
  expiryGranularityMs: 2000,
  definiteCodes: etcdDefiniteCodes,
  mutations: {
    'release-without-owner-check': 'variant',
    'renew-without-owner-check': {
      prevented: "a renewal names the lease of one contender and cannot lengthen another's",
    },
    'fence-does-not-grow': 'variant',
    'fence-outside-the-atomic-step': {
      prevented: 'the fence is the revision of the very write that enters the queue',
    },
    'renew-drops-ttl': 'variant',
    'check-then-delete': 'variant',
  },
  wire: etcdWire,
  interventions: etcdInterventions('queue'),
  async connect(context) {
    return new EtcdLeaseClient(await openEtcdLink(context), context);
  },
  observe: (context) => observeEtcdLocks(context, 'queue'),
};

class EtcdLeaseClient implements LockClient {
  readonly #link: EtcdLink;
  readonly #timeoutMs: number;
  readonly #mutation: MutationRole | undefined;
  readonly #losses: LossWatch;
  /** Create revisions of our own grants, whatever the broken variant passes off as their fence. */
  readonly #created = new Map<string, bigint>();

  constructor(link: EtcdLink, { requestTimeoutMs, mutation }: ProtocolContext) {
    this.#link = link;
    this.#timeoutMs = requestTimeoutMs;
    this.#mutation = mutation;
    this.#losses = new LossWatch(link, requestTimeoutMs);
  }

  async acquire(request: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    const granted = await grantLease(this.#link, request.leaseMs);
    if (granted.outcome !== 'ok') return granted;
    const reply =
      request.waitMs > 0
        ? await this.#queueUp(request, granted)
        : await this.#tryOnce(request, granted);
    if (reply.outcome === 'fail') await dropLease(this.#link, granted.lease);
    return reply;
  }

  /** Enters the queue only while it is empty, in one transaction: no place is left behind. */
  async #tryOnce(request: AcquireRequest, granted: Granted): Promise<Reply<{ grant: Grant }>> {
    const prefix = nameBytes(`${request.lock}/`);
    const sent = await transact(this.#link, {
      compare: [
        {
          key: prefix,
          range_end: prefixEnd(prefix),
          target: 'Create',
          result: 'Equal',
          create_revision: '0',
        },
      ],
      success: [put(request, granted)],
      failure: [firstCreated(`${request.lock}/`)],
    });
    if (sent.outcome !== 'ok') return sent;
    if (sent.held) {
      return this.#granted(request, granted, BigInt(sent.reply.header.revision));
    }
    const first = firstKey(sent.reply);
    const holder = first === undefined ? undefined : bytesToText(first.value);
    if (first !== undefined && holder === request.owner) {
      // The same owner token again, as after a lost reply: it has the lock already.
      await dropLease(this.#link, granted.lease);
      return this.#existing(request, first, granted.sentNs);
    }
    return { outcome: 'fail', code: 'busy', detail: `held by ${holder ?? 'another'}` };
  }

  /** Enters the queue and waits for the contender before, keeping the own lease alive meanwhile. */
  async #queueUp(request: AcquireRequest, granted: Granted): Promise<Reply<{ grant: Grant }>> {
    const deadlineMs = performance.now() + request.waitMs;
    const key = keyOf(request.lock, granted.lease);
    const entered = await transact(this.#link, {
      compare: [],
      success: [put(request, granted)],
      failure: [],
    });
    if (entered.outcome !== 'ok') return entered;
    const revision = BigInt(entered.reply.header.revision);
    const alive = new WaitingLease(this.#link, granted, this.#timeoutMs);
    try {
      const turn = await this.#untilFirst(request.lock, revision, deadlineMs, alive);
      if (turn.outcome === 'ok' && turn.first) {
        return await this.#granted(request, alive.latest, revision);
      }
      const left = await this.#leave(key, revision);
      if (left.outcome !== 'ok') return left;
      return turn.outcome === 'ok' ? { outcome: 'fail', code: 'busy' } : turn;
    } finally {
      alive.stop();
    }
  }

  /** Waits until nobody stands before `revision`. `first` false: the time is over. */
  async #untilFirst(
    lock: string,
    revision: bigint,
    deadlineMs: number,
    alive: WaitingLease,
  ): Promise<Reply<{ readonly first: boolean }>> {
    for (;;) {
      const ahead = await this.#predecessor(lock, revision);
      if (ahead.outcome !== 'ok') return ahead;
      if (ahead.key === undefined) return { outcome: 'ok', first: true };
      if (performance.now() >= deadlineMs) return { outcome: 'ok', first: false };
      try {
        await this.#untilGone(ahead.key, ahead.revision, deadlineMs, alive.signal);
      } catch (error) {
        return alive.signal.aborted ? leaseEnded : failure(error);
      }
    }
  }

  /** The contender that stands right before `revision`, and the revision of this look. */
  async #predecessor(
    lock: string,
    revision: bigint,
  ): Promise<Reply<{ readonly key: Buffer | undefined; readonly revision: bigint }>> {
    const prefix = nameBytes(`${lock}/`);
    const request = {
      key: prefix,
      range_end: prefixEnd(prefix),
      max_create_revision: String(revision - 1n),
      sort_target: 'Create',
      sort_order: 'Descend',
      limit: 1,
      keys_only: true,
    } as const;
    const sent = await sendOnce(this.#link, (api, options) => api.kv.range(request, options));
    if (sent.outcome !== 'ok') return sent;
    const { header, kvs } = sent.value;
    return { outcome: 'ok', key: kvs[0]?.key, revision: BigInt(header.revision) };
  }

  async #untilGone(
    key: Buffer,
    seenAt: bigint,
    deadlineMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const request = { from: key, end: undefined, startRevision: seenAt + 1n, previous: false };
    const watch = await openWatch(this.#link, request, signal);
    try {
      await untilDeleted(watch, signal, deadlineMs);
    } finally {
      watch.close();
    }
  }

  /** Gives the own place up. Whatever happened meanwhile, it is ours alone to delete. */
  async #leave(key: string, revision: bigint): Promise<Reply<object>> {
    return transact(this.#link, {
      compare: [createdAt(key, revision)],
      success: [{ request_delete_range: { key: nameBytes(key) } }],
      failure: [],
    });
  }

  async #granted(
    request: AcquireRequest,
    granted: Granted,
    revision: bigint,
  ): Promise<Reply<{ grant: Grant }>> {
    const { lease, ttlMs, sentNs } = granted;
    const grant: Grant = {
      owner: request.owner,
      // The broken variant takes the key's version, which is 1 for every grant.
      fence: this.#mutation === 'fence-does-not-grow' ? 1n : revision,
      grantedTtlMs: ttlMs,
      validUntilNs: sentNs + BigInt(ttlMs) * 1_000_000n,
      record: keyOf(request.lock, lease),
    };
    this.#created.set(grant.record, revision);
    await this.#losses.begin(request.lock, grant, revision);
    return { outcome: 'ok', grant };
  }

  async confirm(request: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    const sentNs = process.hrtime.bigint();
    const held = await this.#held(request.lock, request.owner);
    return held.outcome === 'ok' ? this.#existing(request, held.key, sentNs) : held;
  }

  /** The first key of the queue, if it is this owner's. */
  async #held(lock: string, owner: OwnerToken): Promise<Reply<{ readonly key: IKeyValue }>> {
    const sent = await transact(this.#link, {
      compare: [],
      success: [firstCreated(`${lock}/`)],
      failure: [],
    });
    if (sent.outcome !== 'ok') return sent;
    const key = firstKey(sent.reply);
    if (key === undefined || bytesToText(key.value) !== owner) return notOwner();
    return { outcome: 'ok', key };
  }

  /** The grant that a key already is, with what is left of its lease. */
  async #existing(
    request: AcquireRequest,
    key: IKeyValue,
    sentNs: bigint,
  ): Promise<Reply<{ grant: Grant }>> {
    const lease = BigInt(key.lease);
    const left = await timeLeft(this.#link, lease);
    if (left.outcome !== 'ok') return left;
    if (left.ttlMs === undefined) return notOwner();
    const revision = BigInt(key.create_revision);
    return this.#granted(request, { lease, ttlMs: left.ttlMs, sentNs }, revision);
  }

  /** The lease gets the length that it was granted with, whatever is asked for. */
  async renew(lock: string, grant: Grant): Promise<Reply<{ grantedTtlMs: number }>> {
    if (this.#losses.hasLost(grant)) return notOwner();
    if (this.#mutation === 'renew-drops-ttl') return this.#putWithoutLease(grant);
    const reply = await keepAlive(this.#link, leaseOf(grant.record), this.#timeoutMs);
    if (reply.outcome === 'fail' && reply.code === 'not-owner') {
      this.#losses.lose(lock, grant, 'the lease has ended');
    }
    return reply;
  }

  /** The broken variant: a plain put detaches the key from its lease. */
  async #putWithoutLease(grant: Grant): Promise<Reply<{ grantedTtlMs: number }>> {
    const request = { key: nameBytes(grant.record), value: bytesOf(grant.owner) };
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
    const sent = await transact(this.#link, {
      compare: [createdAt(grant.record, this.#created.get(grant.record) ?? grant.fence ?? 0n)],
      success: [
        { request_delete_range: { key: nameBytes(grant.record) } },
        recordRelease(lock, grant.owner),
      ],
      failure: [],
    });
    if (sent.outcome !== 'ok') return sent;
    return sent.held ? { outcome: 'ok' } : notOwner();
  }

  /** The broken variant: whatever is under the lock's name, as `etcdctl del --prefix` would. */
  async #deleteByName(lock: string): Promise<Reply<object>> {
    const prefix = nameBytes(`${lock}/`);
    const request = { key: prefix, range_end: prefixEnd(prefix) };
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

const leaseEnded: Reply<never> = {
  outcome: 'fail',
  code: 'busy',
  detail: 'the lease ended while waiting',
};

function keyOf(lock: string, lease: bigint): string {
  return `${lock}/${hex(lease)}`;
}

function put(
  request: AcquireRequest,
  { lease }: Granted,
): {
  request_put: { key: Buffer; value: Buffer; lease: string };
} {
  const key = nameBytes(keyOf(request.lock, lease));
  return { request_put: { key, value: bytesOf(request.owner), lease: String(lease) } };
}

function createdAt(
  key: string,
  revision: bigint,
): {
  key: Buffer;
  target: 'Create';
  result: 'Equal';
  create_revision: string;
} {
  return {
    key: nameBytes(key),
    target: 'Create',
    result: 'Equal',
    create_revision: String(revision),
  };
}

function firstKey(reply: ITxnResponse): IKeyValue | undefined {
  return reply.responses[0]?.response_range.kvs[0];
}
