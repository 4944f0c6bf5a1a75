/**
 * Past holders of a lock, replayed from the revisions that the cluster still keeps. A deletion
 * carries no reason: whether a key was deleted or went with its lease is told only by a lease that
 * is still alive. Compaction ends what can be replayed, also while it is being read.
 */
import type { FenceRecord } from '../../domain/fence.ts';
import { FencepostError } from '../../domain/errors.ts';
import { known, unknown, type Known } from '../../domain/known.ts';
import type { LockRef } from '../../domain/lock.ts';
import { textToBytes, type Text } from '../../domain/text.ts';
import { openWatch, readUntil, type KeyEvent } from '../../clients/etcd/watch.ts';
import type { EtcdLink } from '../../clients/etcd/link.ts';
import type { EtcdConvention } from '../../conventions/convention.ts';
import { queueOf } from '../../conventions/etcd-queue.ts';
import type { LockHistory } from '../backend.ts';
import { findLock } from './find.ts';
import { readLeases } from './leases.ts';
import type { toKey } from './range.ts';
import { keyRange, prefixRange, type KeyRange } from './key-range.ts';
import { readKey, readRange } from './range.ts';
import { explainRefusal } from './refusal.ts';
import { Replay, type PastHold } from './replay.ts';
import type { EtcdWorld } from './world.ts';

/** Holds whose leases are asked for together. */
const batchSize = 64;

export function lockHistory(world: EtcdWorld, ref: LockRef, signal: AbortSignal): LockHistory {
  const reader = new HistoryReader(world, signal);
  return { records: reader.records(ref), completeness: () => reader.complete };
}

class HistoryReader {
  complete: Known<string> = unknown('the history was not read to its end');
  readonly #world: EtcdWorld;
  readonly #link: EtcdLink;
  readonly #signal: AbortSignal;

  constructor(world: EtcdWorld, signal: AbortSignal) {
    this.#world = world;
    this.#link = world.link;
    this.#signal = signal;
  }

  async *records(ref: LockRef): AsyncGenerator<FenceRecord> {
    const { name } = ref;
    try {
      for (const layout of await this.#layouts(ref)) {
        const replay = await this.#replay(name, layout);
        if (replay.isEmpty) continue;
        yield* this.#judged(replay);
        return;
      }
    } catch (error) {
      throw await explainRefusal(this.#link, error, `what ${name} was`, this.#signal);
    }
  }

  /** Where to look: as the lock is laid out now, or in both ways when nothing of it is left. */
  async #layouts(ref: LockRef): Promise<readonly EtcdConvention['layout'][]> {
    if (ref.convention !== undefined) return [this.#world.conventions.byId(ref.convention).layout];
    const found = await findLock(this.#world, ref, this.#signal);
    const layout = found?.recognised?.convention.layout;
    return layout === undefined ? ['prefix', 'key'] : [layout];
  }

  async #replay(name: Text, layout: EtcdConvention['layout']): Promise<Replay> {
    const range = layout === 'key' ? keyRange(name) : prefixRange(textToBytes(`${name}/`));
    const { revision: present } = await readKey(this.#link, name, this.#signal);
    const replay = new Replay(this.#world.conventions, name, layout);
    this.complete = known('since revision 1 (never compacted)');
    let start = 1n;
    for (;;) {
      const compacted = await this.#follow(range, start, present, (events) => {
        replay.apply(events);
      });
      if (compacted === undefined) return replay;
      // The state at the compacted revision itself can still be read; the events up to it cannot.
      const base = await this.#base(range, compacted);
      if (base === undefined) continue;
      const meanwhile = start > 1n || !replay.isEmpty;
      replay.restart(
        layout === 'key' ? base : base.filter((key) => queueOf(key) === name),
        compacted,
      );
      this.complete = known(
        meanwhile
          ? `since revision ${compacted}: the cluster compacted its history while it was read`
          : `since revision ${compacted}, the last compaction`,
      );
      start = compacted + 1n;
    }
  }

  /** @returns the compact revision when the events from `start` on are not all there any more */
  async #follow(
    range: KeyRange,
    start: bigint,
    present: bigint,
    onEvents: (events: readonly KeyEvent[]) => void,
  ): Promise<bigint | undefined> {
    if (start > present) return undefined;
    const request = { ...range, startRevision: start, previous: false };
    const watch = await openWatch(this.#link, request, this.#signal);
    try {
      return await readUntil(watch, present, onEvents);
    } finally {
      watch.close();
    }
  }

  /** Undefined: compacted again, before it could be read. */
  async #base(range: KeyRange, revision: bigint): Promise<ReturnType<typeof toKey>[] | undefined> {
    try {
      const keys = [];
      const how = { signal: this.#signal, revision };
      for await (const page of readRange(this.#link, range, how)) keys.push(...page.keys);
      return keys;
    } catch (error) {
      if (error instanceof FencepostError && error.code === 'compacted') return undefined;
      throw error;
    }
  }

  async *#judged(replay: Replay): AsyncGenerator<FenceRecord> {
    const { past, holding } = replay.result();
    for (let at = 0; at < past.length; at += batchSize) {
      const batch = past.slice(at, at + batchSize);
      const deleted = batch.filter(({ ended }) => ended.how === 'deleted');
      const states = await readLeases(
        this.#link,
        deleted.map(({ lease }) => lease),
        { keys: false, signal: this.#signal },
      );
      for (const hold of batch) {
        yield toRecord(hold, states.get(hold.lease)?.kind === 'living');
      }
    }
    if (holding !== undefined) yield { ...toRecord(holding, true), ended: { how: 'holding' } };
  }
}

function toRecord(hold: PastHold, leaseLives: boolean): FenceRecord {
  const { ended } = hold;
  return {
    fence: { kind: 'token', token: hold.createRevision, source: 'create-revision' },
    owner: known(hold.owner),
    record: hold.key,
    grantedAt: unknown('etcd keeps no times of its revisions'),
    ended:
      ended.how === 'deleted' && !leaseLives && hold.lease !== 0n
        ? { ...ended, how: 'lease-ended-or-deleted' }
        : ended,
    source: 'etcd revisions',
  };
}
