/** One lock in full: finds the record behind a name, reads all that belongs to it, adds evidence. */
import { UsageError } from '../../domain/errors.ts';
import { defaultLockPatterns, globMatcher } from '../../domain/glob.ts';
import type { LockDetail, LockNote, LockRef } from '../../domain/lock.ts';
import { parseText, type Text } from '../../domain/text.ts';
import type { RedisConvention, RedisRecord, RedisSibling } from '../../conventions/convention.ts';
import type { Sender } from './connection.ts';
import { unreadable } from './errors.ts';
import { gatherEvidence, idleTime, type IdleTime } from './evidence.ts';
import { absentRecord, type Page } from './page.ts';
import type { RecordReader } from './reader.ts';
import { ownerOfHelper, recognise, type Recognised, type RedisConventions } from './recognise.ts';
import { withSiblings } from './siblings.ts';
import { toSnapshot, type SnapshotContext } from './snapshot.ts';

export interface InspectWorld {
  readonly sender: Sender;
  readonly reader: RecordReader;
  readonly context: SnapshotContext;
  readonly conventions: RedisConventions;
  readonly signal: AbortSignal;
}

/** A record and the layout it is read in; `recognised` undefined: nobody's lock. */
export interface Found {
  readonly record: RedisRecord;
  readonly recognised: Recognised | undefined;
  readonly idle: IdleTime;
  readonly notes: readonly LockNote[];
}

const isLockName = globMatcher(defaultLockPatterns);

/** @throws {UsageError} `wrong-type`, `unknown-convention` */
export async function inspectLock(
  world: InspectWorld,
  ref: LockRef,
): Promise<LockDetail | undefined> {
  const found = await findLock(world, ref);
  if (found === undefined) return undefined;
  const { record, recognised, idle, notes } = found;
  const snapshot = toSnapshot(world.context, record, recognised, {
    notes,
    holder: ref.holder,
  });
  return {
    ...snapshot,
    evidence: await gatherEvidence(world, snapshot, idle),
    facts: factsOf(found, world.context),
  };
}

/** The record behind a name, completed by its siblings. Idle times are read before anything else. */
export async function findLock(world: InspectWorld, ref: LockRef): Promise<Found | undefined> {
  const { conventions } = world;
  const helper = ref.convention === undefined ? ownerOfHelper(ref.name, conventions) : undefined;
  if (helper !== undefined) {
    const lock = await findLock(world, { name: helper.lock, convention: helper.convention.id });
    return lock && { ...lock, notes: [...lock.notes, helperNote(ref.name)] };
  }
  const forced = ref.convention === undefined ? undefined : conventions.byId(ref.convention);
  const keys = candidateKeys(ref.name, forced === undefined ? conventions.all : [forced], forced);
  const idle = await idleTime(world, keys);
  const page = await world.reader.keys(keys, { signal: world.signal });
  const present = keys.flatMap(
    (key) => page.records.find((one) => one.key === key && one.type !== 'none') ?? [],
  );
  const [record] = surestFirst(world, ref.name, present, forced);
  if (
    record === undefined &&
    page.hidden > 0 &&
    !page.records.some((one) => one.key === ref.name)
  ) {
    throw unreadable(ref.name);
  }
  if (record === undefined) return findAbsent(world, keys, page, forced);
  const recognised = recognisedAs(world, record, forced);
  const complete =
    recognised === undefined ? record : await complement(world, record, recognised.convention);
  return {
    record: complete,
    recognised,
    idle: idle.get(record.key) ?? { kind: 'unknown', reason: 'not asked' },
    notes: [],
  };
}

/** The record of the typed name, unless that is nobody's lock and a layout keeps one for the name. */
function surestFirst(
  { conventions }: InspectWorld,
  name: Text,
  present: readonly RedisRecord[],
  forced: RedisConvention | undefined,
): readonly RedisRecord[] {
  if (forced !== undefined || present.length < 2) return present;
  const sure = present.filter((record) => {
    const found = recognise(record, isLockName, conventions);
    return found !== undefined && (found.confidence !== 'low' || isLockName(name));
  });
  return [...sure, ...present];
}

function recognisedAs(
  { conventions }: InspectWorld,
  record: RedisRecord,
  forced: RedisConvention | undefined,
): Recognised | undefined {
  return forced === undefined ? recognise(record, isLockName, conventions) : force(record, forced);
}

/** The typed name itself, then the keys that layouts derive from it. */
function candidateKeys(
  name: Text,
  conventions: readonly RedisConvention[],
  forced: RedisConvention | undefined,
): Text[] {
  const derived = (convention: RedisConvention): Text[] =>
    convention.keyOf === undefined || convention.nameOf?.(name) !== undefined
      ? []
      : [convention.keyOf(name)];
  const keys = conventions.flatMap(derived);
  return [...new Set(forced === undefined ? [name, ...keys] : [...keys, name])];
}

/** No record, but a counter or a queue may be left of it: then the lock is free, not unknown. */
async function findAbsent(
  world: InspectWorld,
  keys: readonly Text[],
  page: Page,
  forced: RedisConvention | undefined,
): Promise<Found | undefined> {
  const conventions = (forced === undefined ? world.conventions.all : [forced]).filter((one) =>
    one.types.includes('none'),
  );
  for (const convention of conventions) {
    for (const key of keys) {
      const absent = absentRecord(key, page.serverTimeMs);
      const record = await complement(world, absent, convention);
      const confidence = convention.matches(record);
      if (confidence === undefined) continue;
      return {
        record,
        recognised: { convention, confidence, candidates: [], forced: forced !== undefined },
        idle: { kind: 'unknown', reason: 'there is no record now' },
        notes: [],
      };
    }
  }
  return undefined;
}

async function complement(
  world: InspectWorld,
  record: RedisRecord,
  convention: RedisConvention,
): Promise<RedisRecord> {
  const [complete] = await withSiblings(world.sender, world.reader, [{ record, convention }], {
    signal: world.signal,
    inFull: true,
  });
  return complete ?? record;
}

function force(record: RedisRecord, convention: RedisConvention): Recognised {
  if (!convention.types.includes(record.type)) {
    const wanted = convention.types.filter((type) => type !== 'none').join(' or ');
    throw new UsageError(
      `"${record.key}" holds a ${record.type}, and a ${convention.title} is a ${wanted}: that library's lock attempts fail with WRONGTYPE`,
      {
        code: 'wrong-type',
        hint: 'the name is taken by something else; see what it is without --convention',
        definite: true,
      },
    );
  }
  const confidence = convention.matches(record) ?? 'low';
  return { convention, confidence, candidates: [], forced: true };
}

function helperNote(asked: Text): LockNote {
  return {
    code: 'asked-for-helper',
    severity: 'info',
    text: `${asked} belongs to this lock and is no lock itself`,
  };
}

function factsOf({ record, recognised }: Found, context: SnapshotContext): Record<string, string> {
  const facts: Record<string, string> = {
    key: record.key,
    type: record.type,
    database: String(context.database),
    pttlMs: record.ttlMs === undefined ? 'none' : String(record.ttlMs),
    layout: recognised?.convention.id ?? 'none',
  };
  if (record.value !== undefined) facts['value'] = record.value;
  if (record.tooBig !== undefined) facts['tooBig'] = String(record.tooBig);
  for (const [name, value] of record.fields ?? []) facts[`field ${name}`] = value;
  for (const one of record.siblings.values()) facts[`beside ${one.key}`] = siblingFact(one);
  return facts;
}

function siblingFact(one: RedisSibling): string {
  if (one.subscribers !== undefined) {
    return one.subscribers.kind === 'unknown'
      ? 'channel'
      : `channel, ${one.subscribers.value} subscribers`;
  }
  const ttl = one.ttlMs === undefined ? 'no TTL' : `${one.ttlMs} ms left`;
  const content =
    one.value ?? (one.memberCount === undefined ? undefined : `${one.memberCount} members`);
  return parseText([one.type, content, ttl].filter((part) => part !== undefined).join(', '));
}
