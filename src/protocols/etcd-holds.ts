/** Folds the events of one lock's keys into its grants. Pure. */
import type { KeyEvent } from '../clients/etcd/watch.ts';
import type { OwnerToken } from '../domain/holder.ts';
import { bytesToText } from '../domain/text.ts';

/** One grant: from the revision at which its key was the first, to the one at which it was not. */
export interface Hold {
  readonly owner: OwnerToken;
  /** Create revision of its key. */
  readonly fence: bigint;
  /** The lease its key hung on last; 0: none. */
  readonly lease: bigint;
  /** Revision at which it became the holder. */
  readonly order: bigint;
  readonly endedAt: bigint | undefined;
  /** The transaction that ended it also recorded this owner's release. */
  readonly released: boolean;
}

/** Which keys of the events are contenders, and the one that records releases. */
export interface LockKeys {
  isContender(key: Buffer): boolean;
  readonly release: Buffer;
}

interface Contender {
  readonly owner: OwnerToken;
  readonly created: bigint;
  readonly lease: bigint;
}

export class HoldLog {
  readonly #keys: LockKeys;
  readonly #contenders = new Map<string, Contender>();
  readonly #past: Hold[] = [];
  #present: Hold | undefined;
  /** Whose release the revision at hand records. */
  #releasing: OwnerToken | undefined;

  constructor(keys: LockKeys) {
    this.#keys = keys;
  }

  /** Events in the order of their revisions; those of one revision are one step. */
  apply(events: readonly KeyEvent[]): void {
    for (const [at, event] of events.entries()) {
      this.#take(event);
      const { mod_revision: revision } = event.kv;
      if (events[at + 1]?.kv.mod_revision === revision) continue;
      this.#settle(BigInt(revision));
      this.#releasing = undefined;
    }
  }

  #take({ type, kv }: KeyEvent): void {
    const key = kv.key.toString('latin1');
    if (kv.key.equals(this.#keys.release)) {
      if (type === 'Put') this.#releasing = bytesToText(kv.value);
    } else if (!this.#keys.isContender(kv.key)) return;
    else if (type === 'Delete') this.#contenders.delete(key);
    else {
      this.#contenders.set(key, {
        owner: bytesToText(kv.value),
        created: BigInt(kv.create_revision),
        lease: BigInt(kv.lease),
      });
    }
  }

  /** In the order of grants. */
  holds(): readonly Hold[] {
    return this.#present === undefined ? this.#past : [...this.#past, this.#present];
  }

  #settle(revision: bigint): void {
    const first = this.#first();
    const before = this.#present;
    if (before !== undefined && first !== undefined && isSame(before, first)) {
      this.#present = { ...before, lease: first.lease };
      return;
    }
    if (before !== undefined) {
      const released = this.#releasing === before.owner;
      this.#past.push({ ...before, endedAt: revision, released });
    }
    this.#present = first && {
      owner: first.owner,
      fence: first.created,
      lease: first.lease,
      order: revision,
      endedAt: undefined,
      released: false,
    };
  }

  #first(): Contender | undefined {
    return [...this.#contenders.values()].reduce<Contender | undefined>(
      (first, one) => (first === undefined || one.created < first.created ? one : first),
      undefined,
    );
  }
}

function isSame(hold: Hold, contender: Contender): boolean {
  return hold.fence === contender.created && hold.owner === contender.owner;
}
