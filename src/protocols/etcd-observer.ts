/**
 * Reads etcd locks from the outside: the present holder by a linearizable read, past grants and
 * their ends by replaying the revisions since the observer was opened. etcd keeps no reason for a
 * deletion: a release is told by its record, and of the others whether the lease outlived them, and
 * the looks in between, tell what can be told.
 */
import { InternalError, TargetError } from '../domain/errors.ts';
import type { OwnerToken } from '../domain/holder.ts';
import { bytesToText } from '../domain/text.ts';
import type { EtcdLink } from '../clients/etcd/link.ts';
import { openWatch, readUntil } from '../clients/etcd/watch.ts';
import { nameBytes, openEtcdLink, prefixEnd, releaseKey, timeLeft } from './etcd-client.ts';
import { HoldLog, type Hold } from './etcd-holds.ts';
import type {
  LockObserver,
  ObservedEnd,
  ObservedGrant,
  ObservedState,
  ProtocolContext,
  Reply,
} from './protocol.ts';

/** `queue`: keys under `lock/`, the first created holds. `key`: the key `lock` itself. */
export type EtcdLayout = 'queue' | 'key';

/** Opens its own connection. */
export async function observeEtcdLocks(
  context: Omit<ProtocolContext, 'mutation'>,
  layout: EtcdLayout,
): Promise<LockObserver> {
  const link = await openEtcdLink(context);
  const status = await link.read((api, options) => api.maintenance.status(options), {
    signal: never,
  });
  return new EtcdObserver(link, layout, BigInt(status.header.revision));
}

const never = new AbortController().signal;
const shortestPrefix = 8;

interface Look {
  readonly owner: OwnerToken;
  readonly lease: bigint;
  /** This machine's monotonic clock. */
  readonly atMs: number;
  readonly ttlMs: number | undefined;
}

/** How a lease stood when the record on it was first seen to be gone. */
interface Gone {
  readonly leaseLived: boolean;
  readonly atMs: number;
  readonly last: Look;
}

class EtcdObserver implements LockObserver {
  readonly #link: EtcdLink;
  readonly #layout: EtcdLayout;
  readonly #openedAt: bigint;
  readonly #last = new Map<string, Look>();
  readonly #gone = new Map<string, Gone>();

  constructor(link: EtcdLink, layout: EtcdLayout, openedAt: bigint) {
    this.#link = link;
    this.#layout = layout;
    this.#openedAt = openedAt;
  }

  /** etcd does not tell its clock. */
  serverTimeMs(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async state(lock: string): Promise<ObservedState> {
    const { from, end } = this.#range(lock);
    const request = {
      key: from,
      ...(end === undefined ? {} : { range_end: end }),
      sort_target: 'Create',
      sort_order: 'Ascend',
      limit: 1,
    } as const;
    const reply = await this.#link.read((api, options) => api.kv.range(request, options), {
      signal: never,
    });
    const [key] = reply.kvs;
    const owner = key === undefined ? undefined : bytesToText(key.value);
    await this.#noteEnd(lock, owner, BigInt(key?.lease ?? 0));
    if (key === undefined || owner === undefined) return { kind: 'absent' };
    const lease = BigInt(key.lease);
    const ttlMs = lease === 0n ? undefined : ((await this.#timeLeft(lease)) ?? 0);
    this.#last.set(lock, { owner, lease, atMs: performance.now(), ttlMs });
    return {
      kind: 'held',
      owner,
      fence: this.#layout === 'queue' ? BigInt(key.create_revision) : undefined,
      ttlMs,
      record: key.key.toString('utf8'),
    };
  }

  /** Another holder, or none, than at the last look: asks at once whether that one's lease lives on. */
  async #noteEnd(lock: string, owner: OwnerToken | undefined, lease: bigint): Promise<void> {
    const last = this.#last.get(lock);
    if (last === undefined || (last.owner === owner && last.lease === lease)) return;
    this.#last.delete(lock);
    // The same owner on another lease, or on none, renewed in a broken way: it still holds.
    if (last.owner === owner) return;
    const leaseLived = last.lease === 0n || (await this.#timeLeft(last.lease)) !== undefined;
    this.#gone.set(endKey(lock, last.owner), { leaseLived, atMs: performance.now(), last });
  }

  async grants(lock: string): Promise<readonly ObservedGrant[]> {
    return (await this.#replay(lock)).map(({ owner, fence, order }) => ({
      owner,
      fence: this.#layout === 'queue' ? fence : undefined,
      order,
    }));
  }

  async end(lock: string, owner: OwnerToken): Promise<ObservedEnd> {
    await this.state(lock);
    const hold = (await this.#replay(lock)).findLast((one) => one.owner === owner);
    if (hold === undefined) return unknownEnd(owner, 'no revision shows this owner as the holder');
    const { endedAt } = hold;
    if (endedAt === undefined) return unknownEnd(owner, 'the key is still there');
    const base = { owner, order: endedAt };
    if (hold.released) {
      const witness = `deleted at revision ${endedAt} by the transaction that recorded its release`;
      return { ...base, cause: 'released', witness };
    }
    const gone = this.#gone.get(endKey(lock, owner));
    const lived = await this.#leaseLived(hold, gone);
    if (lived) {
      const witness = `deleted at revision ${endedAt}; its lease outlived it`;
      return { ...base, cause: 'removed-early', witness };
    }
    if (gone?.last.ttlMs === undefined) {
      const witness = `deleted at revision ${endedAt}, its lease is gone, and nobody looked in between`;
      return { ...base, cause: 'unknown', witness };
    }
    const elapsedMs = Math.round(gone.atMs - gone.last.atMs);
    const witness = `deleted at revision ${endedAt} with its lease; TTL was ${gone.last.ttlMs} ms, ${elapsedMs} ms before it was seen gone`;
    // TTLs are rounded down: sooner than that, the lease was revoked.
    return { ...base, cause: elapsedMs < gone.last.ttlMs ? 'session-ended' : 'expired', witness };
  }

  async #leaseLived(hold: Hold, gone: Gone | undefined): Promise<boolean> {
    if (gone?.last.lease === hold.lease) return gone.leaseLived;
    return hold.lease === 0n || (await this.#timeLeft(hold.lease)) !== undefined;
  }

  /** etcd does not tell who is connected. */
  clientAddresses(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async cleanUp(prefix: string): Promise<void> {
    if (prefix.length < shortestPrefix) {
      throw new InternalError(`refusing to clean up under the short prefix "${prefix}"`, {
        code: 'short-prefix',
      });
    }
    const key = nameBytes(prefix);
    const request = { key, range_end: prefixEnd(key) };
    await this.#link.write((api, options) => api.kv.deleteRange(request, options), {
      signal: never,
    });
  }

  close(): Promise<void> {
    this.#link.close();
    return Promise.resolve();
  }

  #range(lock: string): KeyRange {
    if (this.#layout === 'key') return { from: nameBytes(lock), end: undefined };
    const from = nameBytes(`${lock}/`);
    return { from, end: prefixEnd(from) };
  }

  async #timeLeft(lease: bigint): Promise<number | undefined> {
    const reply = await timeLeft(this.#link, lease);
    if (reply.outcome === 'ok') return reply.ttlMs;
    throw failed('a lease', reply);
  }

  /** Every hold since the observer was opened, in the order of grants. */
  async #replay(lock: string): Promise<readonly Hold[]> {
    const range = this.#range(lock);
    const present = await this.#link.read(
      (api, options) => api.kv.range({ key: range.from }, options),
      {
        signal: never,
      },
    );
    const release = releaseKey(lock);
    const log = new HoldLog({ release, isContender: (key) => isWithin(key, range) });
    // One watch over both, so that the order of their events is the cluster's. Nothing but other
    // locks of this run can lie in between.
    const { from, end } = covering(range, release);
    const request = { from, end, startRevision: this.#openedAt + 1n, previous: false };
    const watch = await openWatch(this.#link, request, never);
    try {
      const compacted = await readUntil(watch, BigInt(present.header.revision), (events) => {
        log.apply(events);
      });
      if (compacted !== undefined) {
        throw new TargetError(
          `the cluster compacted its history up to revision ${compacted} during the run`,
          { code: 'observation-failed', definite: true },
        );
      }
      return log.holds();
    } finally {
      watch.close();
    }
  }
}

/** `end` undefined: the one key `from`. */
interface KeyRange {
  readonly from: Buffer;
  readonly end: Buffer | undefined;
}

function isWithin(key: Buffer, { from, end }: KeyRange): boolean {
  if (end === undefined) return key.equals(from);
  return key.compare(from) >= 0 && key.compare(end) < 0;
}

/** The smallest range with `key` and all of `range` in it. */
function covering({ from, end }: KeyRange, key: Buffer): KeyRange {
  const after = Buffer.concat([key, Buffer.of(0)]);
  return {
    from: key.compare(from) < 0 ? key : from,
    end: end === undefined || end.compare(after) < 0 ? after : end,
  };
}

function endKey(lock: string, owner: OwnerToken): string {
  return JSON.stringify([lock, owner]);
}

function unknownEnd(owner: OwnerToken, witness: string): ObservedEnd {
  return { owner, cause: 'unknown', order: undefined, witness };
}

function failed(what: string, reply: Exclude<Reply<object>, { outcome: 'ok' }>): TargetError {
  return new TargetError(`the observer could not read ${what}: ${reply.detail ?? reply.code}`, {
    code: 'observation-failed',
    definite: true,
  });
}
