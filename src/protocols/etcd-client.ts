/**
 * What the etcd lock clients share: calls whose failure is an outcome, leases, one keep-alive per
 * renewal, the watch that tells a holder of its loss, and telling lock requests apart on the wire.
 */
import type { ILeaseKeepAliveResponse, IRequestOp, ITxnRequest, ITxnResponse } from 'etcd3';
import { FencepostError } from '../domain/errors.ts';
import type { OwnerToken } from '../domain/holder.ts';
import { textToBytes } from '../domain/text.ts';
import { definiteCodes } from '../clients/etcd/errors.ts';
import { EtcdLink, interrupted, type Call } from '../clients/etcd/link.ts';
import { openWatch, type Watch } from '../clients/etcd/watch.ts';
import { failureOf } from './failure.ts';
import type { Grant, ProtocolContext, Reply, WireFormat, WireRequest } from './protocol.ts';

/** Codes of the clients' own refusals and of etcd's: the request surely had no effect. */
export const etcdDefiniteCodes: readonly string[] = ['busy', 'not-owner', ...definiteCodes];

/** Opens the link and makes sure that a member with a leader answers. @throws {FencepostError} */
export async function openEtcdLink(context: Omit<ProtocolContext, 'mutation'>): Promise<EtcdLink> {
  const { target, requestTimeoutMs } = context;
  const link = new EtcdLink(target, { connectTimeoutMs: 2000, requestTimeoutMs });
  try {
    await link.read((api, options) => api.maintenance.status(options), { signal: never });
    return link;
  } catch (error) {
    link.close();
    throw error;
  }
}

const never = new AbortController().signal;

/** A lock's name, as the scenario writes it. */
export function nameBytes(name: string): Buffer {
  return Buffer.from(name, 'utf8');
}

/** An owner token. */
export function bytesOf(token: OwnerToken): Buffer {
  return Buffer.from(textToBytes(token));
}

/** Sends one call, once. Never rejects for what the service or the way to it did. */
export async function sendOnce<T>(link: EtcdLink, call: Call<T>): Promise<Reply<{ value: T }>> {
  try {
    return { outcome: 'ok', value: await link.write(call, { signal: never }) };
  } catch (error) {
    return failure(error);
  }
}

/** @throws whatever is no FencepostError */
export function failure(error: unknown): Reply<never> {
  return failureOf(error, definiteCodes);
}

/** One transaction. `held`: whether its comparisons held. */
export async function transact(
  link: EtcdLink,
  request: ITxnRequest,
): Promise<Reply<{ readonly held: boolean; readonly reply: ITxnResponse }>> {
  const sent = await sendOnce(link, (api, options) => api.kv.txn(request, options));
  if (sent.outcome !== 'ok') return sent;
  return { outcome: 'ok', held: sent.value.succeeded, reply: sent.value };
}

/** A lease just granted, and the time of the request, from which its length counts for the holder. */
export interface Granted {
  readonly lease: bigint;
  readonly ttlMs: number;
  readonly sentNs: bigint;
}

export async function grantLease(link: EtcdLink, leaseMs: number): Promise<Reply<Granted>> {
  const sentNs = process.hrtime.bigint();
  const request = { TTL: String(Math.ceil(leaseMs / 1000)), ID: '0' };
  const sent = await sendOnce(link, (api, options) => api.leaseClient.leaseGrant(request, options));
  if (sent.outcome !== 'ok') return sent;
  const { ID, TTL } = sent.value;
  return { outcome: 'ok', lease: BigInt(ID), ttlMs: Number(TTL) * 1000, sentNs };
}

/** Gives a lease back that holds no lock; if that fails, it ends by itself. */
export async function dropLease(link: EtcdLink, lease: bigint): Promise<void> {
  const request = { ID: String(lease) };
  await sendOnce(link, (api, options) => api.leaseClient.leaseRevoke(request, options));
}

/** Milliseconds left by the leader's count, rounded down to seconds; undefined when it has ended. */
export async function timeLeft(
  link: EtcdLink,
  lease: bigint,
): Promise<Reply<{ readonly ttlMs: number | undefined }>> {
  const request = { ID: String(lease), keys: false };
  const sent = await sendOnce(link, (api, options) =>
    api.leaseClient.leaseTimeToLive(request, options),
  );
  if (sent.outcome !== 'ok') return sent;
  const ttlMs = Number(sent.value.TTL) * 1000;
  return { outcome: 'ok', ttlMs: ttlMs < 0 ? undefined : ttlMs };
}

interface KeepAliveStream {
  write(request: { ID: string }): void;
  end(): void;
  cancel(): void;
  on(event: 'data', listener: (reply: ILeaseKeepAliveResponse) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
}

/**
 * Renews a lease once: a stream that carries one request and one reply. The lease gets the length
 * that it was granted with. `not-owner`: it has ended.
 */
export async function keepAlive(
  link: EtcdLink,
  lease: bigint,
  timeoutMs: number,
): Promise<Reply<{ grantedTtlMs: number }>> {
  try {
    const stream: KeepAliveStream = await link.stream(
      (api, options) => api.leaseClient.leaseKeepAlive(options),
      { signal: never },
    );
    const reply = await onlyReply(link, stream, lease, timeoutMs);
    if (reply === undefined) {
      return { outcome: 'unknown', code: 'target-timeout', detail: `no answer in ${timeoutMs} ms` };
    }
    const grantedTtlMs = Number(reply.TTL) * 1000;
    if (grantedTtlMs > 0) return { outcome: 'ok', grantedTtlMs };
    return { outcome: 'fail', code: 'not-owner', detail: 'the lease has ended' };
  } catch (error) {
    return failure(error);
  }
}

function onlyReply(
  link: EtcdLink,
  stream: KeepAliveStream,
  lease: bigint,
  timeoutMs: number,
): Promise<ILeaseKeepAliveResponse | undefined> {
  return new Promise((resolve, reject) => {
    const settle = (end: () => void): void => {
      clearTimeout(timer);
      end();
      stream.end();
      stream.cancel();
    };
    const timer = setTimeout(() => {
      settle(() => {
        resolve(undefined);
      });
    }, timeoutMs);
    stream.on('data', (reply) => {
      settle(() => {
        resolve(reply);
      });
    });
    // Our own cancel comes back as an error, after the promise has settled.
    stream.on('error', (error) => {
      settle(() => {
        reject(link.translate(error, 'write'));
      });
    });
    stream.on('end', () => {
      settle(() => {
        reject(link.translate(new Error('14 UNAVAILABLE: the stream ended'), 'write'));
      });
    });
    stream.write({ ID: String(lease) });
  });
}

export type LostListener = (lock: string, reason: string) => void;

/** Names one grant of one lock, also where its record is named as every other's. */
type GrantName = Pick<Grant, 'record' | 'owner'>;

/** Watches the keys of grants and tells once when one goes without our doing. */
export class LossWatch {
  readonly #link: EtcdLink;
  readonly #listeners: LostListener[] = [];
  readonly #watched = new Map<string, AbortController>();
  readonly #lost = new Set<string>();
  readonly #timeoutMs: number;

  constructor(link: EtcdLink, timeoutMs: number) {
    this.#link = link;
    this.#timeoutMs = timeoutMs;
  }

  onLost(listener: LostListener): void {
    this.#listeners.push(listener);
  }

  /** Begins after `revision`, at which the key was ours. Returns when the watch stands, or fails to. */
  async begin(lock: string, grant: GrantName, revision: bigint): Promise<void> {
    if (this.#watched.has(nameOf(grant))) return;
    const abort = new AbortController();
    this.#watched.set(nameOf(grant), abort);
    const { signal } = abort;
    const from = nameBytes(grant.record);
    const request = { from, end: undefined, startRevision: revision + 1n, previous: false };
    try {
      const watch = await openWatch(this.#link, request, signal);
      // The first message says that it stands.
      await watch.next(this.#timeoutMs);
      void this.#follow(watch, lock, grant, signal);
    } catch (error) {
      tolerate(error);
    }
  }

  /** Whether the service told that this grant is over. */
  hasLost(grant: GrantName): boolean {
    return this.#lost.has(nameOf(grant));
  }

  /** We end it ourselves: its deletion is no loss. */
  end(grant: GrantName): void {
    this.#watched.get(nameOf(grant))?.abort();
    this.#watched.delete(nameOf(grant));
  }

  /** Told once for each grant. */
  lose(lock: string, grant: GrantName, reason: string): void {
    if (!this.#watched.has(nameOf(grant))) return;
    this.end(grant);
    this.#lost.add(nameOf(grant));
    for (const listener of this.#listeners) listener(lock, reason);
  }

  close(): void {
    for (const watching of this.#watched.values()) watching.abort();
    this.#watched.clear();
  }

  async #follow(watch: Watch, lock: string, grant: GrantName, signal: AbortSignal): Promise<void> {
    try {
      const gone = await untilDeleted(watch, signal);
      this.lose(lock, grant, `${grant.record} was deleted at revision ${gone ?? '?'}`);
    } catch (error) {
      tolerate(error);
    } finally {
      watch.close();
    }
  }
}

/** Without the watch, the next renewal tells of the loss. */
function tolerate(error: unknown): void {
  if (!(error instanceof FencepostError)) throw error;
}

function nameOf({ record, owner }: GrantName): string {
  return JSON.stringify([record, owner]);
}

const idleMs = 60_000;

/** @returns the revision of the deletion @throws {FencepostError} when the watch ends first */
export async function untilDeleted(
  watch: Watch,
  signal: AbortSignal,
  deadlineMs = Number.POSITIVE_INFINITY,
): Promise<bigint | undefined> {
  for (;;) {
    if (signal.aborted) throw interrupted();
    const leftMs = deadlineMs - performance.now();
    if (leftMs <= 0) return undefined;
    const message = await watch.next(Math.min(idleMs, leftMs));
    if (message?.kind !== 'events') continue;
    const deleted = message.events.find((event) => event.type === 'Delete');
    if (deleted !== undefined) return BigInt(deleted.kv.mod_revision);
  }
}

/** What a request operation of a transaction does, by its field number. */
const operations = { 1: 'confirm', 2: 'acquire', 3: 'release' } as const;

/** A transaction is what its first success operation is: reads confirm, puts acquire, deletions release. */
export const etcdWire: WireFormat = {
  framing: 'grpc',
  requestAction({ bytes, path }: WireRequest) {
    if (path === '/etcdserverpb.KV/Txn') return transactionAction(bytes);
    return path === undefined ? undefined : otherActions.get(path);
  },
};

const otherActions: ReadonlyMap<string, 'renew' | 'release'> = new Map([
  ['/etcdserverpb.Lease/LeaseKeepAlive', 'renew'],
  ['/etcdserverpb.KV/Put', 'renew'],
  ['/etcdserverpb.KV/DeleteRange', 'release'],
]);

/** Finds field 2 (success) of a TxnRequest behind the five bytes of gRPC, and its first field. */
function transactionAction(frame: Uint8Array): (typeof operations)[1 | 2 | 3] | undefined {
  let at = 5;
  while (at < frame.length) {
    const tag = varint(frame, at);
    const length = varint(frame, tag.next);
    if (tag.value === ((2 << 3) | 2)) {
      const inner = varint(frame, length.next).value >> 3;
      return inner === 1 || inner === 2 || inner === 3 ? operations[inner] : undefined;
    }
    at = length.next + length.value;
  }
  return undefined;
}

function varint(
  bytes: Uint8Array,
  start: number,
): { readonly value: number; readonly next: number } {
  let value = 0;
  for (let at = start, shift = 0; at < bytes.length; at += 1, shift += 7) {
    const byte = bytes[at] ?? 0;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return { value, next: at + 1 };
  }
  return { value, next: bytes.length };
}

/** A read as an operation of a transaction: the key created first under `prefix`. */
export function firstCreated(prefix: string): IRequestOp {
  const from = nameBytes(prefix);
  return {
    request_range: {
      key: from,
      range_end: prefixEnd(from),
      sort_target: 'Create',
      sort_order: 'Ascend',
      limit: 1,
    },
  };
}

/** Key that records who released a lock last: a deletion alone does not tell whose it was. */
export function releaseKey(lock: string): Buffer {
  return nameBytes(`${lock}.released`);
}

/** What a release does besides deleting the owner's key: the same transaction records it. */
export function recordRelease(lock: string, owner: OwnerToken): IRequestOp {
  return { request_put: { key: releaseKey(lock), value: bytesOf(owner) } };
}

/** The end of the range of all keys under a prefix that ends with `/`. */
export function prefixEnd(prefix: Buffer): Buffer {
  const end = Buffer.from(prefix);
  end[end.length - 1] = (end.at(-1) ?? 0) + 1;
  return end;
}

/** Lease id in a contender's key, `lock/<hex>`. */
export function leaseOf(record: string): bigint {
  return BigInt(`0x${record.slice(record.lastIndexOf('/') + 1)}`);
}

export function hex(lease: bigint): string {
  return lease.toString(16);
}
