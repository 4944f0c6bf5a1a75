/**
 * Lists locks: reads the keys in the order of their names, puts queues together, keeps what is a
 * lock, and asks for the leases of the holders. Memory does not grow with the number of keys.
 */
import { FencepostError } from '../../domain/errors.ts';
import { globMatcher } from '../../domain/glob.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import { bytesToText, textToBytes, type Text } from '../../domain/text.ts';
import type { EtcdLink } from '../../clients/etcd/link.ts';
import type { EtcdKey, EtcdRecord } from '../../conventions/convention.ts';
import type { ListTally, LockQuery } from '../backend.ts';
import { ahead } from '../streams.ts';
import { Grouper } from './groups.ts';
import { LeaseMemory, type LeaseState } from './leases.ts';
import { pacer } from './pause.ts';
import { prefixRange, type KeyRange } from './key-range.ts';
import { readRange, type RangePage } from './range.ts';
import { isLock, recognise, type EtcdConventions, type Recognised } from './recognise.ts';
import { explainRefusal } from './refusal.ts';
import { readContext } from './server-view.ts';
import { holderOf, toSnapshot, type SnapshotContext } from './snapshot.ts';
import type { EtcdWorld } from './world.ts';

/** Locks whose leases are asked for together, so that rows flow while pages are long. */
const batchSize = 200;

/** Streams the locks, some at a time. Counters in `tally` are live. */
export async function* listLocks(
  world: EtcdWorld,
  query: LockQuery,
  tally: ListTally,
  signal: AbortSignal,
): AsyncGenerator<readonly LockSnapshot[]> {
  const { link } = world;
  const context = await readContext(link, signal);
  const head = literalHead(query.pattern);
  const range = prefixRange(textToBytes(head));
  const grouper = new Grouper();
  const choose = chooser(world.conventions, query, tally);
  const pages = paced(
    consistentPages(link, range, query, tally, signal),
    pacer(query.ratePerSecond, signal),
  );
  const leases = query.withoutLeases === true ? undefined : new LeaseMemory(link, signal);
  const what = head === '' ? 'every key' : `keys that begin with ${bytesToText(textToBytes(head))}`;
  try {
    for await (const page of ahead(pages)) {
      tally.read += page.keys.length;
      const records = page.keys.flatMap((key: EtcdKey) => grouper.add(key));
      yield* described(leases, context, choose(records));
    }
    yield* described(leases, context, choose(grouper.end()));
  } catch (error) {
    throw await explainRefusal(link, error, what, signal);
  }
}

/** The pages; before the next one is asked for, the rate limit is waited for. */
async function* paced(
  pages: AsyncGenerator<RangePage>,
  pace: (read: number) => Promise<void>,
): AsyncGenerator<RangePage> {
  for await (const page of pages) {
    yield page;
    await pace(page.keys.length);
  }
}

/** All pages at one revision; when that is compacted meanwhile, the rest at the present one. */
async function* consistentPages(
  link: EtcdLink,
  range: KeyRange,
  query: LockQuery,
  tally: ListTally,
  signal: AbortSignal,
): AsyncGenerator<RangePage> {
  const pageLimit =
    query.ratePerSecond === undefined
      ? {}
      : { pageLimit: Math.max(1, Math.ceil(query.ratePerSecond)) };
  let rest = range;
  for (;;) {
    try {
      for await (const page of readRange(link, rest, { signal, ...pageLimit })) {
        const last = page.keys.at(-1);
        if (last !== undefined)
          rest = { ...rest, from: Uint8Array.from([...textToBytes(last.key), 0]) };
        yield page;
      }
      return;
    } catch (error) {
      if (!(error instanceof FencepostError) || error.code !== 'compacted') throw error;
      tally.holes.push(
        'the cluster compacted its history meanwhile: the rest was read at a later revision',
      );
    }
  }
}

/** The part of a glob before its first wildcard: it becomes the range that is read. */
export function literalHead(pattern: Text | undefined): string {
  return /^[^*?[\\]*/.exec(pattern ?? '')?.[0] ?? '';
}

const noStates: ReadonlyMap<bigint, LeaseState> = new Map();

interface Candidate {
  readonly record: EtcdRecord;
  readonly recognised: Recognised | undefined;
}

/** Decides which records are listed, and counts the others. */
function chooser(
  conventions: EtcdConventions,
  query: LockQuery,
  tally: ListTally,
): (records: readonly EtcdRecord[]) => readonly Candidate[] {
  const isLockName = globMatcher(query.lockPatterns);
  const wanted = query.pattern === undefined ? () => true : globMatcher([query.pattern]);
  const choose = (record: EtcdRecord): readonly Candidate[] => {
    if (!wanted(record.name)) return [];
    const recognised = recognise(record, isLockName, conventions);
    if (!isLock(record, recognised, isLockName)) {
      if (!query.all || query.conventions !== undefined) {
        tally.others += record.keys.length;
        return [];
      }
      return singly(record, recognised);
    }
    const only = query.conventions;
    const listed = only === undefined || only.includes(recognised.convention.id);
    return listed ? [{ record, recognised }] : [];
  };
  return (records) => records.flatMap(choose);
}

/** A queue that nobody recognises is no queue: its keys are shown one by one. */
function singly(record: EtcdRecord, recognised: Recognised | undefined): readonly Candidate[] {
  if (recognised !== undefined) return [{ record, recognised }];
  return record.keys.map((key) => ({
    record: { system: 'etcd', name: key.key, keys: [key] },
    recognised: undefined,
  }));
}

async function* described(
  leases: LeaseMemory | undefined,
  context: SnapshotContext,
  candidates: readonly Candidate[],
): AsyncGenerator<readonly LockSnapshot[]> {
  for (let at = 0; at < candidates.length; at += batchSize) {
    const batch = candidates.slice(at, at + batchSize);
    const holders = batch.flatMap(({ record }) => holderOf(record)?.lease ?? []);
    const states = (await leases?.read(holders)) ?? noStates;
    yield batch.map(({ record, recognised }) => toSnapshot(context, record, recognised, states));
  }
}
