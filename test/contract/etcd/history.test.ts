/** History on etcd: what compaction takes away, before and while it is read. */
import type { Etcd3 } from 'etcd3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Backend } from '../../../src/backends/backend.ts';
import type { FenceRecord } from '../../../src/domain/fence.ts';
import type { Known } from '../../../src/domain/known.ts';
import { parseText, stringToText, type Text } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { collect, everyLock, forever } from '../backend/subject.ts';
import { countingRelay, type CountingRelay } from './etcd-relay.ts';
import { bytes, enter, openTarget, rawEtcd, type EtcdGrant } from './etcd-seeder.ts';

const lab = useLab({ system: 'etcd' });
let raw: Etcd3;
let relay: CountingRelay;
let backend: Backend;
let count = 0;
let name: Text;

beforeAll(() => {
  raw = rawEtcd(lab.target);
});
beforeEach(async () => {
  count += 1;
  name = parseText(`/jobs/lock-${count}`);
  relay = await countingRelay(lab.target);
  backend = await openTarget(relay.url);
});
afterEach(async () => {
  await backend.close();
  await relay.close();
});
afterAll(() => {
  raw.close();
});

interface Past {
  readonly holds: readonly string[];
  readonly complete: Known<string>;
}

/** Each hold as `owner how`. */
async function past(): Promise<Past> {
  const history = backend.history({ name }, forever);
  const records: readonly FenceRecord[] = await collect(history.records);
  return {
    holds: records.map(({ owner, ended }) =>
      owner.kind === 'unknown' ? `? ${ended.how}` : `${owner.value} ${ended.how}`,
    ),
    complete: history.completeness(),
  };
}

/** Enters and leaves the queue; the lease outlives the key. */
async function holdOnce(owner: string): Promise<bigint> {
  const { key } = await enter(raw, name, owner, 300);
  return deleted(key);
}

async function deleted(key: Text): Promise<bigint> {
  return BigInt((await raw.kv.deleteRange({ key: bytes(key) })).header.revision);
}

async function compact(revision: bigint): Promise<void> {
  await raw.kv.compact({ revision: String(revision), physical: true });
}

describe('a history', () => {
  test('tells every holder in order, and how each hold ended as far as etcd tells', async () => {
    await holdOnce('a');
    const b = await enter(raw, name, 'b', 300);
    const c = await enter(raw, name, 'c', 300);
    await raw.leaseClient.leaseRevoke({ ID: b.lease });
    await raw.kv.put({ key: bytes(c.key), value: Buffer.from('stranger') });
    expect(await past()).toEqual({
      holds: ['a deleted', 'b lease-ended-or-deleted', 'c replaced', 'stranger holding'],
      complete: { kind: 'known', value: 'since revision 1 (never compacted)' },
    });
  });

  test('has fences that grow with each hold, and are the create revisions', async () => {
    const revisions: bigint[] = [];
    for (const owner of ['a', 'b', 'c']) revisions.push(await holdOnce(owner));
    const records = await collect(backend.history({ name }, forever).records);
    const fences = records.map(({ fence }) => (fence.kind === 'token' ? fence.token : 0n));
    expect(fences).toEqual(revisions.map((revision) => revision - 1n));
  });
});

describe('a compaction before the read', () => {
  test('hides what was before it, and it is said since when the history is whole', async () => {
    await holdOnce('a');
    const b: EtcdGrant = await enter(raw, name, 'b', 300);
    const until = BigInt((await raw.kv.range({ key: bytes(b.key) })).header.revision);
    await compact(until);
    await deleted(b.key);
    await holdOnce('c');
    expect(await past()).toEqual({
      holds: ['b deleted', 'c deleted'],
      complete: { kind: 'known', value: `since revision ${until}, the last compaction` },
    });
  });

  test('of everything leaves the present holder', async () => {
    await holdOnce('a');
    const b = await enter(raw, name, 'b', 300);
    await compact(BigInt((await raw.kv.range({ key: bytes(b.key) })).header.revision));
    expect((await past()).holds).toEqual(['b holding']);
  });
});

describe('a compaction while it is read', () => {
  test('of the start does not break it: what can still be read is, and completeness moves', async () => {
    await holdOnce('a');
    const until = await holdOnce('b');
    await holdOnce('c');
    relay.before('Watch', () => compact(until));
    expect(await past()).toEqual({
      holds: ['c deleted'],
      complete: { kind: 'known', value: `since revision ${until}, the last compaction` },
    });
    expect(relay.count('Watch')).toBeGreaterThan(1);
  });

  test('a second time says that it went on while it was read', async () => {
    const first = await holdOnce('a');
    const b = await enter(raw, name, 'b', 300);
    await deleted(b.key);
    const second = await holdOnce('c');
    await holdOnce('d');
    await compact(first);
    let compacting: Promise<void> | undefined;
    let before: number | undefined;
    relay.beforeEach('Watch', async () => {
      before ??= relay.count('Range');
      // The state at the first compaction was read: the next watch begins right after it.
      if (relay.count('Range') > before) await (compacting ??= compact(second));
    });
    const seen = await past();
    expect(seen.holds).toEqual(['d deleted']);
    expect(seen.complete).toEqual({
      kind: 'known',
      value: `since revision ${second}: the cluster compacted its history while it was read`,
    });
  });

  test('between two pages of a listing costs no row, and is told', async () => {
    const puts = Array.from({ length: 1_200 }, (_, index) => index);
    for (let at = 0; at < puts.length; at += 100) {
      const success = puts.slice(at, at + 100).map((index) => ({
        request_put: { key: Buffer.from(`/many/lock-${index}`), value: Buffer.from('x') },
      }));
      await raw.kv.txn({ compare: [], success, failure: [] });
    }
    let ranges = 0;
    relay.beforeEach('Range', async () => {
      ranges += 1;
      if (ranges !== 2) return;
      const { header } = await raw.kv.put({ key: Buffer.from('tick'), value: Buffer.from('x') });
      await compact(BigInt(header.revision));
    });
    const query = { ...everyLock, pattern: stringToText('/many/*') };
    const listing = backend.list(query, forever);
    const rows = await collect(listing.locks);
    expect(rows).toHaveLength(1_200);
    expect(new Set(rows.map((row) => row.ref.name)).size).toBe(1_200);
    expect(listing.tally.holes).toEqual([
      'the cluster compacted its history meanwhile: the rest was read at a later revision',
    ]);
  });
});
