/**
 * Carries a release out: looks again, asks for the role on the same connection, sends one script
 * once, and says what happened. A lost reply is never answered by sending it again.
 */
import { fencedEntryTypes } from '../../domain/fenced-layout.ts';
import { FencepostError, InternalError } from '../../domain/errors.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import { known, unknown } from '../../domain/known.ts';
import type { ReleaseOptions, ReleaseResult } from '../../domain/release.ts';
import { bytesToText, stringToText } from '../../domain/text.ts';
import type { RedisRecord } from '../../conventions/convention.ts';
import { interrupted, type RedisConnection, type Sender } from './connection.ts';
import { isRefusal, unreadable } from './errors.ts';
import { grantBytes } from './grant.ts';
import { readIdentity, type StoredRecord } from './identity.ts';
import { impossible, noFloor, planFor } from './preview.ts';
import { RecordReader } from './reader.ts';
import type { RedisConventions } from './recognise.ts';
import { asArray, asBuffer, asNumber } from './replies.ts';
import { keyBytes, releaseCommand } from './release-command.ts';
import { readServerFacts } from './server-view.ts';
import { withSiblings } from './siblings.ts';

/**
 * Once sent, only the deadline ends the wait: an interruption must not leave the outcome open.
 * Made anew for each request: a shared signal would hold the listeners of all releases under way.
 */
function unabortable(): AbortSignal {
  return new AbortController().signal;
}

export interface ReleaseWorld {
  /** To the server that has the lock, and takes the write. */
  readonly connection: RedisConnection;
  readonly conventions: RedisConventions;
  /** Where what belongs to a lock may lie on other nodes; default: all is read on `connection`. */
  readonly reading?: Reading;
}

interface Reading {
  readonly sender: Sender;
  readonly reader: RecordReader;
}

/** @throws {TargetError} when the server cannot be reached: nothing was sent */
export async function releaseLock(
  world: ReleaseWorld,
  seen: LockSnapshot,
  how: ReleaseOptions,
  signal: AbortSignal,
): Promise<ReleaseResult> {
  const { connection, conventions } = world;
  const no = impossible(conventions, seen, how);
  if (no !== undefined) return refused(no.reason, no.remedy);
  if (seen.identity === undefined) throw wrongWay('a record without identity');
  const stored = readIdentity(seen.identity.record, conventions);
  if (stored.database !== connection.database) throw wrongWay('a snapshot of another database');
  const session = await connection.session(signal);
  const otherSide = await roleProblem(session, stored, signal);
  if (otherSide !== undefined) return otherSide;
  const now = await look(world.reading ?? readingBy(session), stored, signal);
  const before = compare(stored, now);
  if (before !== undefined) return before;
  const plan = planFor(stored, now);
  if (how.fenceFloor !== undefined) {
    const { reason, remedy } = noFloor(plan.release);
    return refused(reason, remedy);
  }
  if (signal.aborted) throw interrupted();
  try {
    const reply = await session.send(releaseCommand(plan, how), {
      signal: unabortable(),
      doing: 'write',
      timeoutMs: how.timeoutMs,
    });
    return await interpret(world, stored, asArray(reply, 'the release script'));
  } catch (error) {
    return await afterError(world, stored, error);
  }
}

/** The role is asked on the connection that will carry the write, right before it. */
async function roleProblem(
  session: Sender,
  stored: StoredRecord,
  signal: AbortSignal,
): Promise<ReleaseResult | undefined> {
  const facts = await readServerFacts(session, { signal });
  if (facts.role.kind === 'known' && facts.role.value === 'replica') {
    return refused(
      'the server is a replica by now: nothing was sent to it',
      'plan again on its primary',
    );
  }
  const runId = facts.runId.kind === 'known' ? facts.runId.value : undefined;
  if (stored.runId !== undefined && runId !== undefined && stored.runId !== runId) {
    return refused('the server was restarted or replaced since the snapshot', 'plan again');
  }
  return undefined;
}

function readingOf({ reading, connection }: ReleaseWorld): Reading {
  return reading ?? readingBy(connection);
}

function readingBy(sender: Sender): Reading {
  return { sender, reader: new RecordReader(sender) };
}

/** The record and its siblings as they are now: the head of a queue may have changed meanwhile. */
async function look(
  { sender, reader }: Reading,
  stored: StoredRecord,
  signal: AbortSignal,
): Promise<RedisRecord> {
  const { key } = stored.record;
  const { convention } = stored;
  const page = await reader.keys([key], { signal });
  const [record] = page.records;
  if (record === undefined) throw unreadable(key);
  const [complete] = await withSiblings(sender, reader, [{ record, convention }], { signal });
  return complete ?? record;
}

/** Undefined: still the same grant. */
function compare(stored: StoredRecord, now: RedisRecord): ReleaseResult | undefined {
  const base = { reply: 'nothing was sent', fenceRaisedTo: undefined };
  const { convention, holder } = stored;
  const grant = grantBytes(now, convention, holder);
  // Without a part of its own, a record that is no grant any more is another's.
  if (grant === undefined && (now.type === 'none' || convention.grantOf !== undefined)) {
    return { ...base, outcome: 'already-gone' };
  }
  if (grant === grantBytes(stored.record, convention, holder)) return undefined;
  return { ...base, outcome: 'changed-hands', now: describe(stored, now) };
}

function describe(stored: StoredRecord, now: RedisRecord): string {
  const before = content(stored.record);
  return now.type === 'none' ? `${before} → gone since` : `${before} → ${content(now)}`;
}

function content(record: RedisRecord): string {
  if (record.value !== undefined) return record.value;
  if (record.fields === undefined) return `a ${record.type}`;
  return [...record.fields].map(([name, value]) => `${name}=${value}`).join(' ');
}

async function interpret(
  world: ReleaseWorld,
  stored: StoredRecord,
  answer: readonly unknown[],
): Promise<ReleaseResult> {
  const words = answer.map((one) => String(one));
  const [outcome, second = '', third = '', fourth = ''] = words;
  const reply = stringToText(words.join(' '));
  if (outcome === 'gone') return { outcome: 'already-gone', reply, fenceRaisedTo: undefined };
  if (outcome === 'changed') {
    const now = await look(readingOf(world), stored, unabortable());
    const what = describe(stored, now);
    return { outcome: 'changed-hands', now: what, reply, fenceRaisedTo: undefined };
  }
  if (outcome === 'refused') {
    return { ...refused(stringToText(second)), reply, fenceRaisedTo: parseFence(third) };
  }
  if (outcome !== 'released') throw wrongWay(`the answer ${reply}`);
  const woken = asNumber(answer[2], 'the release script');
  return {
    outcome: 'released',
    woken: woken < 0 ? unknown(`the message was refused: ${stringToText(fourth)}`) : known(woken),
    reply,
    fenceRaisedTo: parseFence(second),
  };
}

function parseFence(text: string): bigint | undefined {
  return /^\d+$/.test(text) ? BigInt(text) : undefined;
}

/** An error of the write: surely without effect, or to be settled by a look. */
async function afterError(
  world: ReleaseWorld,
  stored: StoredRecord,
  error: unknown,
): Promise<ReleaseResult> {
  if (!(error instanceof FencepostError)) throw error;
  if (error.definite) {
    return {
      ...refused(error.message, isRefusal(error) ? error.hint : undefined),
      reply: error.message,
    };
  }
  const base = { outcome: 'unknown', reply: error.message, fenceRaisedTo: undefined } as const;
  try {
    const now = await look(readingOf(world), stored, unabortable());
    const ours = await ownEntry(readingOf(world).sender, stored, now);
    if (ours) {
      return {
        outcome: 'released',
        woken: unknown('the reply was lost'),
        reply: `${error.message}; the lock's history has the forced release`,
        fenceRaisedTo: undefined,
      };
    }
    return { ...base, reason: `the reply was lost; ${lostReason(stored, now)}` };
  } catch (second) {
    const why = second instanceof Error ? second.message : 'the look at it failed';
    return { ...base, reason: `the reply was lost, and the lock could not be read again: ${why}` };
  }
}

function lostReason(stored: StoredRecord, now: RedisRecord): string {
  const same = compare(stored, now);
  if (same === undefined) {
    return 'the record is still there, but the request may be on its way: look again in a moment';
  }
  return same.outcome === 'already-gone'
    ? 'the record is gone, by this release or by itself'
    : `another grant is there (${describe(stored, now)}); the one seen ended, by this release or by itself`;
}

/** Whether the history stream has a forced release of exactly this grant. */
async function ownEntry(sender: Sender, stored: StoredRecord, now: RedisRecord): Promise<boolean> {
  const { release } = planFor(stored, stored.record);
  const { history } = release;
  if (history === undefined || compare(stored, now) === undefined) return false;
  const reply = await sender.send(['XREVRANGE', keyBytes(history.key), '+', '-', 'COUNT', 20], {
    signal: unabortable(),
  });
  const wanted = history.released.flat().flatMap((word) => ('text' in word ? [word.text] : []));
  return asArray(reply, 'XREVRANGE').some((entry) => {
    const flat = asArray(asArray(entry, 'XREVRANGE')[1], 'XREVRANGE');
    const texts = flat.map((one) => bytesToText(asBuffer(one, 'XREVRANGE')));
    return (
      texts.includes(stringToText(fencedEntryTypes.forceRelease)) &&
      wanted.every((word) => texts.includes(word))
    );
  });
}

function refused(reason: string, remedy?: string): ReleaseResult & { outcome: 'refused' } {
  return {
    outcome: 'refused',
    reason,
    ...(remedy === undefined ? {} : { remedy }),
    reply: 'nothing was sent',
    fenceRaisedTo: undefined,
  };
}

function wrongWay(what: string): InternalError {
  return new InternalError(`the release of a Redis lock was given ${what}`, { code: 'internal' });
}
