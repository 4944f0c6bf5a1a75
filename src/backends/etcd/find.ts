/** Finds the record behind a name: a queue of keys under `name/`, or the key `name` itself. */
import { FencepostError, UsageError } from '../../domain/errors.ts';
import { defaultLockPatterns, globMatcher } from '../../domain/glob.ts';
import type { LockNote, LockRef } from '../../domain/lock.ts';
import { textToBytes, type Text } from '../../domain/text.ts';
import type { EtcdLink } from '../../clients/etcd/link.ts';
import type { EtcdConvention, EtcdKey, EtcdRecord } from '../../conventions/convention.ts';
import { isOnOwnLease, queueOf } from '../../conventions/etcd-queue.ts';
import { prefixRange } from './key-range.ts';
import { readKey, readRange, toAnswer, type Answer } from './range.ts';
import { confidenceRank, recognise, type EtcdConventions, type Recognised } from './recognise.ts';
import { explainRefusal } from './refusal.ts';
import type { EtcdWorld } from './world.ts';

/** A record and the layout it is read in; `recognised` undefined: nobody's lock. */
export interface Found extends Answer {
  readonly record: EtcdRecord;
  readonly recognised: Recognised | undefined;
  readonly notes: readonly LockNote[];
}

const isLockName = globMatcher(defaultLockPatterns);

/** @throws {UsageError} `wrong-type`, `unknown-convention` */
export async function findLock(
  world: EtcdWorld,
  ref: LockRef,
  signal: AbortSignal,
): Promise<Found | undefined> {
  const { link, conventions } = world;
  const forced = ref.convention === undefined ? undefined : conventions.byId(ref.convention);
  const seen = await look(link, ref.name, signal);
  const parent = queueOfContender(seen, forced);
  if (parent !== undefined) {
    const lock = await findLock(world, { ...ref, name: parent }, signal);
    return lock && { ...lock, notes: [...lock.notes, contenderNote(ref.name)] };
  }
  const { key, queue } = seen;
  const places: Places = {
    single: key === undefined ? undefined : toRecord(ref.name, [key]),
    queued: queue.length === 0 ? undefined : toRecord(ref.name, queue),
  };
  const chosen =
    forced === undefined ? choose(places, conventions) : force(ref.name, places, forced);
  const notes = [...bothNotes(places), ...hiddenNotes(seen.hidden)];
  return chosen && { ...seen.answer, ...chosen, notes };
}

/** The lock that was meant when the name is the key of one of its contenders. */
function queueOfContender(
  { key, queue }: Seen,
  forced: EtcdConvention | undefined,
): Text | undefined {
  if (key === undefined || queue.length > 0 || forced?.layout === 'key') return undefined;
  return isOnOwnLease(key) || forced !== undefined ? queueOf(key) : undefined;
}

interface Places {
  readonly single: EtcdRecord | undefined;
  readonly queued: EtcdRecord | undefined;
}

type Chosen = Pick<Found, 'record' | 'recognised'>;

interface Seen {
  readonly answer: Answer;
  readonly key: EtcdKey | undefined;
  readonly queue: readonly EtcdKey[];
  /** The place that this account may not read, if there is one. */
  readonly hidden: string | undefined;
}

/** Both places where a lock of this name can be, at one revision. */
async function look(link: EtcdLink, name: Text, signal: AbortSignal): Promise<Seen> {
  const single = await orRefusal(readKey(link, name, signal));
  const revision = single instanceof FencepostError ? undefined : single.revision;
  const queue = await orRefusal(readQueue(link, name, revision, signal));
  const key = single instanceof FencepostError ? undefined : single.key;
  let hidden: string | undefined;
  if (queue instanceof FencepostError || single instanceof FencepostError) {
    const found = queue instanceof FencepostError ? key !== undefined : queue.length > 0;
    if (!found) {
      const refusal = queue instanceof FencepostError ? queue : single;
      throw await explainRefusal(link, refusal, `${name} and what is under ${name}/`, signal);
    }
    hidden = queue instanceof FencepostError ? `what is under ${name}/` : `the key ${name} itself`;
  }
  return {
    answer: single instanceof FencepostError ? await answerBesides(link, signal) : single,
    key,
    queue: queue instanceof FencepostError ? [] : queue,
    hidden,
  };
}

async function orRefusal<T>(work: Promise<T>): Promise<T | FencepostError> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof FencepostError && error.code === 'permission-denied') return error;
    throw error;
  }
}

async function answerBesides(link: EtcdLink, signal: AbortSignal): Promise<Answer> {
  const reply = await link.read((api, options) => api.maintenance.status(options), { signal });
  return toAnswer(reply.header);
}

/** The keys that stand in the queue `name`. Other keys may lie under the same prefix. */
async function readQueue(
  link: EtcdLink,
  name: Text,
  revision: bigint | undefined,
  signal: AbortSignal,
): Promise<readonly EtcdKey[]> {
  const range = prefixRange(textToBytes(`${name}/`));
  const queue: EtcdKey[] = [];
  const how = { signal, ...(revision === undefined ? {} : { revision }) };
  for await (const page of readRange(link, range, how)) {
    for (const key of page.keys) if (queueOf(key) === name) queue.push(key);
  }
  return queue;
}

function toRecord(name: Text, keys: readonly EtcdKey[]): EtcdRecord {
  return { system: 'etcd', name, keys };
}

/** The surer of the two; a queue that only looks like one gives way to a key. */
function choose({ single, queued }: Places, conventions: EtcdConventions): Chosen | undefined {
  const [first, second] = [queued, single].flatMap((record) =>
    record === undefined
      ? []
      : [{ record, recognised: recognise(record, isLockName, conventions) }],
  );
  if (first === undefined || second === undefined) return first;
  return rankOf(second.recognised) > rankOf(first.recognised) ? second : first;
}

function rankOf(recognised: Recognised | undefined): number {
  return recognised === undefined ? -1 : confidenceRank[recognised.confidence];
}

function force(
  name: Text,
  { single, queued }: Places,
  convention: EtcdConvention,
): Chosen | undefined {
  const record = convention.layout === 'key' ? single : queued;
  if (record === undefined) {
    if (single === undefined && queued === undefined) return undefined;
    throw wrongLayout(name, convention);
  }
  const confidence = convention.matches(record) ?? 'low';
  return { record, recognised: { convention, confidence, candidates: [], forced: true } };
}

function bothNotes({ single, queued }: Places): LockNote[] {
  if (single === undefined || queued === undefined) return [];
  return [
    {
      code: 'two-layouts',
      severity: 'warn',
      text: `there is a key ${single.name} and a queue of keys under ${single.name}/: a lock by the one layout does not exclude a lock by the other`,
    },
  ];
}

function hiddenNotes(hidden: string | undefined): LockNote[] {
  if (hidden === undefined) return [];
  return [
    {
      code: 'part-unreadable',
      severity: 'info',
      text: `this account may not read ${hidden}: a lock laid out there would not be seen`,
    },
  ];
}

function contenderNote(asked: Text): LockNote {
  return {
    code: 'asked-for-contender',
    severity: 'info',
    text: `${asked} is one contender for this lock`,
  };
}

function wrongLayout(name: Text, convention: EtcdConvention): UsageError {
  const [single, queue] = ['a single key', `a queue of keys under ${name}/`];
  const [is, wants] = convention.layout === 'key' ? [queue, single] : [single, queue];
  return new UsageError(`"${name}" is ${is}; the layout ${convention.id} is ${wants}`, {
    code: 'wrong-type',
    hint: 'see what it is without --convention',
    definite: true,
  });
}
