/**
 * Lists locks: walks the keyspace page by page, keeps what is a lock, and reads what belongs to it.
 * Memory does not grow with the number of keys; the next page is asked for while this one is read.
 *
 * SCAN may give a key twice when the server's hash table is resized meanwhile. The last names
 * listed are remembered, so a repetition over more than four thousand locks is shown twice.
 */
import type { LockNote, LockSnapshot } from '../../domain/lock.ts';
import { globMatcher } from '../../domain/glob.ts';
import { textToBytes, type Text } from '../../domain/text.ts';
import type { RedisRecord } from '../../conventions/convention.ts';
import type { ListTally, LockQuery } from '../backend.ts';
import { ahead } from '../streams.ts';
import type { Sender } from './connection.ts';
import { absentRecord, type Page } from './page.ts';
import { pause } from './pause.ts';
import {
  isLock,
  ownerOfHelper,
  recognise,
  type Recognised,
  type RedisConventions,
} from './recognise.ts';
import type { RecordReader } from './reader.ts';
import { withSiblings, type Incomplete } from './siblings.ts';
import { ownersOf, toSnapshot, type SnapshotContext } from './snapshot.ts';

export interface ListWorld {
  readonly sender: Sender;
  readonly reader: RecordReader;
  readonly conventions: RedisConventions;
  /** Asked once, before the first page. */
  context(): Promise<SnapshotContext>;
}

/** Names remembered against repetition, and owners against sharing: this many, to twice as many. */
const memory = 4096;

/** Streams the locks of one database, a page at a time. Counters in `tally` are live. */
export async function* listLocks(
  world: ListWorld,
  query: LockQuery,
  tally: ListTally,
  signal: AbortSignal,
): AsyncGenerator<readonly LockSnapshot[]> {
  const context = await world.context();
  const chooser = new Chooser(world.conventions, query, tally);
  const owners = new Recent<string>();
  const pace = pacer(query.ratePerSecond, signal);
  const chosen = chosenPages(world, chooser, {
    walks: walksFor(query, world.conventions),
    pace,
    signal,
  });
  for await (const { locks } of ahead(chosen)) {
    const complete = await locks;
    if (complete.length > 0) yield describe(context, complete, owners);
  }
}

interface ChosenPage {
  /** In an object, because a generator waits for a promise that it yields. */
  readonly locks: Promise<readonly Candidate[]>;
}

/** What is listed of each page; that which belongs to it is still on its way. */
async function* chosenPages(
  world: ListWorld,
  chooser: Chooser,
  { walks, pace, signal }: { walks: readonly Walk[]; pace: Pace; signal: AbortSignal },
): AsyncGenerator<ChosenPage> {
  for (const walk of walks) {
    for await (const page of pagesOf(world, walk, pace, signal)) {
      const locks = completed(world, chooser.choose(page, walk), { signal });
      // Awaited a little later: a failure must not count as unhandled until then.
      locks.catch(() => undefined);
      yield { locks };
    }
  }
}

/** One walk through the keyspace; `done` are the keys that an earlier walk has shown. */
interface Walk {
  readonly match: Text | undefined;
  readonly count: number | undefined;
  readonly done: (key: Text) => boolean;
}

/** The pattern itself, then the keys of layouts whose locks are called otherwise than their keys. */
function walksFor(
  { pattern, ratePerSecond: count }: LockQuery,
  conventions: RedisConventions,
): Walk[] {
  if (pattern === undefined || pattern === '*') {
    return [{ match: undefined, count, done: () => false }];
  }
  const matches = [
    pattern,
    ...conventions.all.flatMap((convention) => convention.keysMatching?.(pattern) ?? []),
  ];
  return matches.map((match, index) => ({
    match,
    count,
    done: globMatcher(matches.slice(0, index), 'exact'),
  }));
}

/** The pages of one walk; while one is worked on, the next is on its way. */
async function* pagesOf(
  world: ListWorld,
  walk: Walk,
  pace: Pace,
  signal: AbortSignal,
): AsyncGenerator<Page> {
  const match = walk.match === undefined ? undefined : Buffer.from(textToBytes(walk.match));
  const ask = (cursor: string): Promise<Page> =>
    world.reader.page({ cursor, match, count: walk.count }, { signal });
  let next: Promise<Page> | undefined = ask('0');
  try {
    while (next !== undefined) {
      const page: Page = await next;
      await pace(match === undefined ? page.records.length : page.scanned);
      next = page.cursor === '0' ? undefined : ask(page.cursor);
      yield page;
    }
  } finally {
    // The caller stopped early, or failed: the answer still on its way is not needed.
    next?.catch(() => undefined);
  }
}

interface Candidate {
  readonly record: RedisRecord;
  readonly recognised: Recognised | undefined;
}

/** Decides which records of a page are listed, and counts the others. */
class Chooser {
  readonly #conventions: RedisConventions;
  readonly #query: LockQuery;
  readonly #tally: ListTally;
  readonly #locks = new Recent<Text>();
  /** Locks that are gone and have a queue: their own, because the lock may yet turn up. */
  readonly #orphans = new Recent<Text>();
  readonly #isLockName: (name: Text) => boolean;

  constructor(conventions: RedisConventions, query: LockQuery, tally: ListTally) {
    this.#conventions = conventions;
    this.#query = query;
    this.#tally = tally;
    this.#isLockName = globMatcher(query.lockPatterns);
  }

  choose(page: Page, { done }: Walk): Candidate[] {
    this.#tally.hidden += page.hidden;
    const chosen: Candidate[] = [];
    for (const one of page.records) {
      if (done(one.key)) continue;
      this.#tally.read += 1;
      const candidate = this.#judge(one);
      if (candidate === undefined) continue;
      const shown = candidate.record.type === 'none' ? this.#orphans : this.#locks;
      if (shown.add(lockKey(candidate))) chosen.push(candidate);
    }
    return chosen;
  }

  #judge(record: RedisRecord): Candidate | undefined {
    // It went away between SCAN and the look at it.
    if (record.type === 'none') return undefined;
    const helper = ownerOfHelper(record.key, this.#conventions);
    if (helper !== undefined) {
      if (!this.#conventions.all.includes(helper.convention)) return undefined;
      if (helper.convention.outlives?.(record.key) !== true) return undefined;
      return this.#wanted({
        record: absentRecord(helper.lock, record.serverTimeMs),
        recognised: {
          convention: helper.convention,
          confidence: 'high',
          candidates: [],
          forced: false,
        },
      });
    }
    const recognised = recognise(record, this.#isLockName, this.#conventions);
    if (isLock(record, recognised, this.#isLockName)) return this.#wanted({ record, recognised });
    if (this.#query.all) return this.#wanted({ record, recognised });
    this.#tally.others += 1;
    return undefined;
  }

  #wanted(candidate: Candidate): Candidate | undefined {
    const { conventions } = this.#query;
    if (conventions === undefined) return candidate;
    const id = candidate.recognised?.convention.id;
    return id !== undefined && conventions.includes(id) ? candidate : undefined;
  }
}

/** One key for each lock, also where it is found by either of two. */
function lockKey({ record, recognised }: Candidate): Text {
  const name = recognised?.convention.nameOf?.(record.key);
  return name === undefined ? record.key : (recognised?.convention.keyOf?.(name) ?? record.key);
}

/**
 * Reads the siblings of those that have some, and all members where a page gave only the first. A
 * queue whose lock exists is left to that lock.
 */
async function completed(
  world: ListWorld,
  chosen: readonly Candidate[],
  how: { readonly signal: AbortSignal },
): Promise<readonly Candidate[]> {
  const rest = await readAgain(world, chosen, how);
  const wanted: Incomplete[] = [];
  for (const { record, recognised } of rest) {
    if (recognised !== undefined && recognised.convention.siblings(record).length > 0) {
      wanted.push({ record, convention: recognised.convention });
    }
  }
  if (wanted.length === 0) return rest;
  const full = await withSiblings(world.sender, world.reader, wanted, how);
  const byKey = new Map(full.map((record) => [record.key, record]));
  return rest
    .map(({ record, recognised }) => ({ record: byKey.get(record.key) ?? record, recognised }))
    .filter(
      ({ record, recognised }) =>
        record.type !== 'none' || recognised?.convention.matches(record) !== undefined,
    );
}

/** Looks once more at records that were not read whole, and at locks of which only a helper was seen. */
async function readAgain(
  world: ListWorld,
  chosen: readonly Candidate[],
  how: { readonly signal: AbortSignal },
): Promise<readonly Candidate[]> {
  const again = chosen.filter(({ record }) => record.type === 'none' || isPartial(record));
  if (again.length === 0) return chosen;
  const page = await world.reader.keys(
    again.map(({ record }) => record.key),
    how,
  );
  const found = new Map(page.records.map((record) => [record.key, record]));
  return chosen.flatMap((candidate) => {
    const { record, recognised } = candidate;
    const now = found.get(record.key);
    if (record.type === 'none') return now === undefined || now.type === 'none' ? [candidate] : [];
    if (!isPartial(record)) return [candidate];
    return now?.type === record.type ? [{ record: now, recognised }] : [];
  });
}

function isPartial({ members, memberCount = 0 }: RedisRecord): boolean {
  return members !== undefined && members.length < memberCount;
}

function describe(
  context: SnapshotContext,
  candidates: readonly Candidate[],
  known: Recent<string>,
): LockSnapshot[] {
  const rows = candidates.map((one) => toSnapshot(context, one.record, one.recognised));
  const owners = rows.map(ownersOf);
  const here = new Set<string>();
  const shared = new Set<string>();
  for (const [index, row] of rows.entries()) {
    for (const owner of owners[index] ?? []) {
      // Beyond this page only the owners matter that a guarded release would rely on in vain.
      const again = here.has(owner) || (isWeak(row) && !known.add(owner));
      if (again) shared.add(owner);
      here.add(owner);
    }
  }
  if (shared.size === 0) return rows;
  return rows.map((row, index) => {
    const one = candidates[index];
    const notes = (owners[index] ?? [])
      .filter((owner) => shared.has(owner))
      .map((owner) => sharedNote(owner, row));
    return one === undefined || notes.length === 0
      ? row
      : toSnapshot(context, one.record, one.recognised, { notes });
  });
}

function isWeak({ notes }: LockSnapshot): boolean {
  return notes.some((note) => note.code === 'weak-owner');
}

function sharedNote(owner: string, row: LockSnapshot): LockNote {
  const weak = isWeak(row);
  return {
    code: 'shared-owner',
    severity: weak ? 'warn' : 'info',
    text: weak
      ? `the owner value ${owner} is shared with another lock here: it names no single holder`
      : `the owner ${owner} also holds another lock here`,
  };
}

/**
 * A set that forgets its oldest members, half of them at a time: taking single ones out of the
 * front of a Set is slow, because their places stay behind.
 */
class Recent<T> {
  #young = new Set<T>();
  #old = new Set<T>();

  has(member: T): boolean {
    return this.#young.has(member) || this.#old.has(member);
  }

  /** False when it is in there already. */
  add(member: T): boolean {
    if (this.has(member)) return false;
    this.#young.add(member);
    if (this.#young.size >= memory) {
      this.#old = this.#young;
      this.#young = new Set();
    }
    return true;
  }
}

type Pace = (read: number) => Promise<void>;

/** Waits so that no more than `perSecond` are read on average since the start. */
function pacer(perSecond: number | undefined, signal: AbortSignal): Pace {
  if (perSecond === undefined) return () => Promise.resolve();
  const start = performance.now();
  let total = 0;
  return async (read) => {
    total += read;
    const waitMs = start + (total / perSecond) * 1000 - performance.now();
    if (waitMs > 0) await pause(waitMs, signal);
  };
}
