/** Folds the events of one lock's keys into its past holders. Pure. */
import type { FenceRecord } from '../../domain/fence.ts';
import type { OwnerToken } from '../../domain/holder.ts';
import { valueOf } from '../../domain/known.ts';
import { bytesToText, stringToText, type Text } from '../../domain/text.ts';
import type { KeyEvent } from '../../clients/etcd/watch.ts';
import type { EtcdConvention, EtcdKey } from '../../conventions/convention.ts';
import { plainEtcd } from '../../conventions/etcd-single-key.ts';
import { inQueueOrder, queueOf } from '../../conventions/etcd-queue.ts';
import { toKey } from './range.ts';
import { recognise, type EtcdConventions } from './recognise.ts';

/** One hold. `deleted` may also mean that the lease took the key with it. */
export interface PastHold {
  readonly key: Text;
  readonly owner: OwnerToken;
  readonly createRevision: bigint;
  readonly lease: bigint;
  readonly ended: FenceRecord['ended'];
}

export class Replay {
  readonly #conventions: EtcdConventions;
  readonly #name: Text;
  readonly #layout: EtcdConvention['layout'];
  readonly #keys = new Map<Text, EtcdKey>();
  readonly #past: PastHold[] = [];
  #holder: EtcdKey | undefined;

  constructor(conventions: EtcdConventions, name: Text, layout: EtcdConvention['layout']) {
    this.#conventions = conventions;
    this.#name = name;
    this.#layout = layout;
  }

  /** Nothing was ever seen. */
  get isEmpty(): boolean {
    return this.#past.length === 0 && this.#holder === undefined;
  }

  /** Events in the order of their revisions; those of one revision are one step. */
  apply(events: readonly KeyEvent[]): void {
    for (const [at, event] of events.entries()) {
      const revision = BigInt(event.kv.mod_revision);
      this.#change(event);
      const next = events[at + 1];
      if (next === undefined || BigInt(next.kv.mod_revision) !== revision) this.#settle(revision);
    }
  }

  /** Begins anew from the keys as they were at `revision`: what happened up to it is lost. */
  restart(keys: readonly EtcdKey[], revision: bigint): void {
    const before = this.#holder;
    this.#keys.clear();
    for (const key of keys) this.#keys.set(key.key, key);
    const now = this.#first();
    if (before !== undefined && (now === undefined || !isSameHold(before, now))) {
      const reason = `it ended before revision ${revision}, and that part of the history was compacted`;
      this.#past.push(this.#toHold(before, { how: 'unknown', reason }));
    }
    this.#holder = now;
  }

  /** Holds that ended, oldest first, and the one that goes on. */
  result(): { readonly past: readonly PastHold[]; readonly holding: PastHold | undefined } {
    return {
      past: this.#past,
      holding: this.#holder && this.#toHold(this.#holder, { how: 'holding' }),
    };
  }

  #change(event: KeyEvent): void {
    if (event.type === 'Delete') {
      this.#keys.delete(bytesToText(event.kv.key));
      return;
    }
    const key = toKey(event.kv);
    if (this.#layout === 'key' || queueOf(key) === this.#name) this.#keys.set(key.key, key);
  }

  #settle(revision: bigint): void {
    const before = this.#holder;
    const now = this.#first();
    this.#holder = now;
    if (before === undefined || (now !== undefined && isSameHold(before, now))) return;
    const there = this.#keys.get(before.key);
    const replaced = there?.createRevision === before.createRevision;
    const how = replaced ? 'replaced' : 'deleted';
    this.#past.push(this.#toHold(before, { how, revision }));
  }

  #first(): EtcdKey | undefined {
    return inQueueOrder([...this.#keys.values()])[0];
  }

  #toHold(key: EtcdKey, ended: PastHold['ended']): PastHold {
    const record = { system: 'etcd', name: this.#name, keys: [key] } as const;
    const convention = recognise(record, () => false, this.#conventions)?.convention ?? plainEtcd;
    const owner = valueOf(convention.decode(record).holders)?.[0]?.owner ?? stringToText('');
    const { createRevision, lease } = key;
    return { key: key.key, owner, createRevision, lease, ended };
  }
}

/** A new value on the same lease is the same holder's; on another lease it is another's. */
function isSameHold(a: EtcdKey, b: EtcdKey): boolean {
  if (a.key !== b.key || a.createRevision !== b.createRevision || a.lease !== b.lease) return false;
  return a.lease !== 0n || a.value === b.value;
}
