/** Finds the lock that a name means: a node, the permits of a semaphore, or one contender by its path. */
import { UsageError } from '../../domain/errors.ts';
import type { LockRef } from '../../domain/lock.ts';
import { stringToText, type Text } from '../../domain/text.ts';
import type { Session } from '../../clients/zookeeper/session.ts';
import { namesAt, withGate } from './gate.ts';
import {
  forced,
  isNoLayout,
  recognise,
  unclaimed,
  type ZooKeeperConventions,
} from './recognise.ts';
import { nodeName, parentOf, rawPath, readRecord, type ReadRecord } from './records.ts';
import type { Recognized } from './snapshot.ts';

export interface FindWorld {
  readonly session: Session;
  readonly conventions: ZooKeeperConventions;
}

export interface Found {
  readonly read: ReadRecord;
  readonly recognized: Recognized;
  /** The contender that was asked for by its full path. */
  readonly focus: Text | undefined;
}

/**
 * Undefined when there is no such node.
 * @throws {UsageError} the name is no path, or the convention is not known
 */
export async function findLock(world: FindWorld, ref: LockRef): Promise<Found | undefined> {
  const path = checkedPath(ref.name);
  const permits = await byOtherName(world, ref);
  if (permits !== undefined) return complete(world, permits);
  const own = await readRecord(world.session, path);
  if (own === undefined) return undefined;
  const contender =
    own.record.children.length === 0 ? await asContender(world, path, ref) : undefined;
  return complete(world, contender ?? asLock(world, own, ref));
}

async function complete({ session }: FindWorld, found: Found): Promise<Found> {
  const record = await withGate(session, found.read.record, found.recognized.convention);
  return { ...found, read: { ...found.read, record } };
}

function checkedPath(name: Text): string {
  const path = rawPath(name);
  if (/^\/(?:[^/]+(?:\/[^/]+)*)?$/.test(path)) return path;
  throw new UsageError(`"${name}" is not a node path`, {
    code: 'bad-path',
    hint: 'paths begin with / and do not end with it, such as /locks/orders',
    definite: true,
  });
}

/** The layout that the caller named; one that says "none" names nothing. */
function named({ conventions }: FindWorld, { convention }: LockRef): Recognized | undefined {
  return convention === undefined || isNoLayout(convention)
    ? undefined
    : forced(conventions.byId(convention));
}

/** Some layouts keep their records below the node that people call the lock. */
async function byOtherName(world: FindWorld, ref: LockRef): Promise<Found | undefined> {
  const asked = named(world, ref);
  const candidates = asked === undefined ? world.conventions.all : [asked.convention];
  for (const convention of candidates) {
    const other = convention.pathOf?.(ref.name);
    if (other === undefined) continue;
    const path = rawPath(other);
    const names = await namesAt(world.session, path);
    if (names === undefined || names === 'refused') continue;
    const recognized = asked ?? recognise(names, world.conventions, [convention.id]);
    if (recognized === undefined) continue;
    const read = await readRecord(world.session, path);
    if (read !== undefined) return { read, recognized, focus: undefined };
  }
  return undefined;
}

/** Set when the path names one contender of its parent's queue: the names there tell. */
async function asContender(
  world: FindWorld,
  path: string,
  ref: LockRef,
): Promise<Found | undefined> {
  const parent = parentOf(path);
  if (parent === undefined) return undefined;
  const names = await namesAt(world.session, parent);
  if (names === undefined || names === 'refused') return undefined;
  const recognized = named(world, ref) ?? recognise(names, world.conventions, undefined);
  const focus = stringToText(nodeName(path));
  if (recognized === undefined || recognized.recognition.confidence === 'low') return undefined;
  if (recognized.convention.contender(focus) === undefined) return undefined;
  const read = await readRecord(world.session, parent);
  return read === undefined ? undefined : { read, recognized, focus };
}

/** What was found without a layout is looked at afresh: it may have contenders by now. */
function asLock(world: FindWorld, read: ReadRecord, ref: LockRef): Found {
  const recognized =
    named(world, ref) ??
    recognise(read.record, world.conventions, undefined) ??
    unclaimed(read.record);
  return { read, recognized, focus: undefined };
}
