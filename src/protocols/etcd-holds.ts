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
}

interface Contender {
  readonly owner: OwnerToken;
  readonly created: bigint;
  readonly lease: bigint;
}

export class HoldLog {
  readonly #contenders = new Map<string, Contender>();
  readonly #past: Hold[] = [];
  #present: Hold | undefined;

  /** Events in the order of their revisions; those of one revision are one step. */
  apply(events: readonly KeyEvent[]): void {
    for (const [at, { type, kv }] of events.entries()) {
      const key = kv.key.toString('latin1');
      if (type === 'Delete') this.#contenders.delete(key);
      else {
        this.#contenders.set(key, {
          owner: bytesToText(kv.value),
          created: BigInt(kv.create_revision),
          lease: BigInt(kv.lease),
        });
      }
      if (events[at + 1]?.kv.mod_revision !== kv.mod_revision)
        this.#settle(BigInt(kv.mod_revision));
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
    if (before !== undefined) this.#past.push({ ...before, endedAt: revision });
    this.#present = first && {
      owner: first.owner,
      fence: first.created,
      lease: first.lease,
      order: revision,
      endedAt: undefined,
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
