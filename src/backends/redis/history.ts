/**
 * Past grants. Redis itself keeps none; the fenced layout has a stream of grants and releases,
 * written by the scripts that granted and released. Of any other lock only the present holder is
 * known.
 */
import {
  fencedEntryFields,
  fencedEntryTypes,
  fencedFields,
  fencedKeys,
} from '../../domain/fenced-layout.ts';
import type { FenceRecord } from '../../domain/fence.ts';
import { known, partial, unknown, valueOf, type Known } from '../../domain/known.ts';
import type { LockRef } from '../../domain/lock.ts';
import { bytesToText, parseText, stringToText, type Text } from '../../domain/text.ts';
import { fencepostFenced } from '../../conventions/fencepost-fenced.ts';
import type { LockHistory } from '../backend.ts';
import type { Sender } from './connection.ts';
import { findLock, type Found, type InspectWorld } from './inspect.ts';
import { keyBytes } from './release-command.ts';
import { asArray, asBuffer } from './replies.ts';
import { toSnapshot } from './snapshot.ts';

const pageLength = 200;
const streamSource = 'acquire stream';

export function lockHistory(world: () => Promise<InspectWorld>, ref: LockRef): LockHistory {
  let complete: Known<string> = unknown('the history was not read to its end');
  async function* records(): AsyncGenerator<FenceRecord> {
    const open = await world();
    const found = await findLock(open, ref);
    const fenced = found?.recognised?.convention === fencepostFenced;
    if (found === undefined || !fenced) {
      complete = unknown(
        'Redis keeps no history of this layout: only the present holder is known',
        'a fenced lock of fencepost keeps one',
      );
      if (found !== undefined) yield* presentHolders(open, found);
      return;
    }
    const reading = new StreamReading(open, found);
    yield* reading.records();
    complete = await reading.completeness();
  }
  return { records: records(), completeness: () => complete };
}

function* presentHolders(world: InspectWorld, found: Found): Generator<FenceRecord> {
  const snapshot = toSnapshot(world.context, found.record, found.recognised);
  for (const holder of valueOf(snapshot.holders) ?? []) {
    yield {
      fence: snapshot.fence,
      owner: known(holder.owner),
      grantedAt: unknown('the record does not say since when'),
      ended: { how: 'holding' },
      source: 'present record',
    };
  }
}

interface Entry {
  readonly id: string;
  readonly type: string;
  readonly owner: Text | undefined;
  readonly fence: bigint | undefined;
  readonly at: string | undefined;
}

/** Reads the stream in pages; holds back one grant until it is known how it ended. */
class StreamReading {
  readonly #sender: Sender;
  readonly #signal: AbortSignal;
  readonly #stream: Buffer;
  readonly #name: Text;
  readonly #holding: bigint | undefined;
  #first: Entry | undefined;

  constructor(world: InspectWorld, found: Found) {
    const { record } = found;
    this.#sender = world.sender;
    this.#signal = world.signal;
    this.#name = fencepostFenced.nameOf?.(record.key) ?? record.key;
    this.#stream = keyBytes(parseText(fencedKeys(this.#name).history));
    const fence = record.fields?.get(stringToText(fencedFields.fence));
    this.#holding = fence !== undefined && /^\d+$/.test(fence) ? BigInt(fence) : undefined;
  }

  async *records(): AsyncGenerator<FenceRecord> {
    let grant: Entry | undefined;
    for await (const entry of this.#entries()) {
      this.#first ??= entry;
      const isGrant = entry.type === fencedEntryTypes.grant;
      if (grant !== undefined && (isGrant || grant.fence !== entry.fence)) {
        yield toRecord(grant, vanished);
        grant = undefined;
      }
      if (isGrant) {
        grant = entry;
      } else {
        // Without its grant (trimmed), the end still names owner and number.
        yield toRecord(grant ?? { ...entry, at: undefined }, endedBy(entry));
        grant = undefined;
      }
    }
    if (grant !== undefined) {
      yield toRecord(grant, grant.fence === this.#holding ? { how: 'holding' } : vanished);
    }
  }

  async *#entries(): AsyncGenerator<Entry> {
    for (let from = '-'; ;) {
      const reply = await this.#sender.send(
        ['XRANGE', this.#stream, from, '+', 'COUNT', pageLength],
        { signal: this.#signal },
      );
      const entries = asArray(reply, 'XRANGE').map(parseEntry);
      yield* entries;
      const last = entries.at(-1);
      if (last === undefined || entries.length < pageLength) return;
      from = `(${last.id}`;
    }
  }

  /** Whether the stream still has its first entry. XINFO tells since 7.0; else the first token does. */
  async completeness(): Promise<Known<string>> {
    if (this.#first === undefined) {
      return unknown(
        'the lock has no history stream',
        'it was made by other means, or the stream was deleted',
      );
    }
    const since = this.#first.at ?? `entry ${this.#first.id}`;
    const [reply] = await this.#sender.sendAll([['XINFO', 'STREAM', this.#stream]], {
      signal: this.#signal,
    });
    const info = reply instanceof Error ? new Map<string, string>() : pairsOf(reply);
    const added = info.get('entries-added');
    const untrimmed = added === undefined ? this.#first.fence === 1n : added === info.get('length');
    return untrimmed
      ? known(`since the first grant of ${this.#name} (never trimmed)`)
      : partial(`since ${since}`, 'older entries were trimmed from the stream');
  }
}

/** The next grant or the record's absence shows that it ended, not how. */
const vanished = { how: 'lease-ended-or-deleted' } as const;

function endedBy({ type, at }: Entry): FenceRecord['ended'] {
  const how = type === fencedEntryTypes.release ? 'released' : 'force-released';
  return at === undefined ? { how } : { how, at };
}

function toRecord(entry: Entry, ended: FenceRecord['ended']): FenceRecord {
  const { fence, owner, at } = entry;
  return {
    fence:
      fence === undefined
        ? { kind: 'unknown', reason: 'the entry has no number' }
        : { kind: 'token', token: fence, source: 'counter' },
    owner: owner === undefined ? unknown('the entry has no owner') : known(owner),
    grantedAt: at === undefined ? unknown('the entry of the grant was trimmed') : known(at),
    ended,
    source: streamSource,
  };
}

function parseEntry(reply: unknown): Entry {
  const [id, flat] = asArray(reply, 'XRANGE');
  const fields = new Map<string, Text>();
  const items = asArray(flat, 'XRANGE');
  for (let index = 0; index + 1 < items.length; index += 2) {
    const name = asBuffer(items[index], 'XRANGE').toString();
    fields.set(name, bytesToText(asBuffer(items[index + 1], 'XRANGE')));
  }
  const fence = fields.get(fencedEntryFields.fence);
  return {
    id: asBuffer(id, 'XRANGE').toString(),
    type: fields.get(fencedEntryFields.type) ?? '',
    owner: fields.get(fencedEntryFields.owner),
    fence: fence !== undefined && /^\d{1,19}$/.test(fence) ? BigInt(fence) : undefined,
    at: isoTime(fields.get(fencedEntryFields.at)),
  };
}

function isoTime(epochMs: string | undefined): string | undefined {
  return epochMs !== undefined && /^\d{1,15}$/.test(epochMs)
    ? new Date(Number(epochMs)).toISOString()
    : undefined;
}

function pairsOf(reply: unknown): Map<string, string> {
  const flat = asArray(reply, 'XINFO');
  const pairs = new Map<string, string>();
  for (let at = 0; at + 1 < flat.length; at += 2) pairs.set(String(flat[at]), String(flat[at + 1]));
  return pairs;
}
