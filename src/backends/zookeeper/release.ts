/**
 * Carries a release out: looks again, then deletes exactly the node that was seen, or nothing. A
 * name with a GUID needs one conditional delete. Any other name can be created again at the same
 * data version, so its version is raised first by conditional writes whose answers tell which node
 * it was. Where the data say who may run, the data are written instead. Nothing is ever sent twice,
 * and never in a transaction: the client's drop version 0.
 */
import type { ReleaseOptions, ReleaseResult } from '../../domain/release.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import { FencepostError } from '../../domain/errors.ts';
import { unknown } from '../../domain/known.ts';
import { textToBytes, type Text } from '../../domain/text.ts';
import {
  interrupted,
  isNodeError,
  isRefused,
  zooKeeperCodes,
} from '../../clients/zookeeper/errors.ts';
import type { NodeStat, Session } from '../../clients/zookeeper/session.ts';
import { readIdentity, type NodeIdentity } from './identity.ts';
import { look, namesBefore, type Look } from './look.ts';
import { changed, gone, lost, nothingSent, refusal, type Refusal } from './outcomes.ts';
import { impossible, noFloor } from './preview.ts';
import type { ZooKeeperConventions } from './recognise.ts';

export interface ReleaseWorld {
  /** Gives the session in use, or a new one after that was lost. */
  readonly open: () => Promise<Session>;
  readonly conventions: ZooKeeperConventions;
}

interface Act {
  readonly open: ReleaseWorld['open'];
  readonly session: Session;
  readonly conventions: ZooKeeperConventions;
  readonly grant: NodeIdentity;
  readonly seen: LockSnapshot;
  readonly timeoutMs: number;
}

/** @throws {TargetError} when the ensemble cannot be read: nothing was sent */
export async function releaseNode(
  { open, conventions }: ReleaseWorld,
  seen: LockSnapshot,
  how: ReleaseOptions,
  signal: AbortSignal,
): Promise<ReleaseResult> {
  const no = impossible(conventions, seen, how);
  if (no !== undefined) return refusal(no.reason, no);
  if (how.fenceFloor !== undefined) return refusal(noFloor.reason, noFloor);
  if (seen.identity === undefined) return refusal('there is no node to release', {});
  const grant = readIdentity(seen.identity);
  const session = await open();
  const act: Act = { open, session, conventions, grant, seen, timeoutMs: how.timeoutMs };
  const before = await look(act, grant, seen);
  if (before.kind !== 'same') return fromLook(before, nothingSent);
  if (signal.aborted) throw interrupted();
  const { freedBy } = conventions.byId(grant.convention);
  if (freedBy !== undefined) return free(act, freedBy, before.stat.version);
  return grant.uniqueName
    ? remove(act, before.stat.version, '')
    : bumpAndRemove(act, before.data, before.stat.version);
}

function fromLook(seen: Exclude<Look, { kind: 'same' }>, reply: string): ReleaseResult {
  switch (seen.kind) {
    case 'gone':
      return gone(reply);
    case 'changed':
      return changed(seen.now, reply);
    case 'refused':
      return { ...refusal(seen.reason, seen), reply };
  }
}

/** `before`: what was done to the node already, for the reply. */
async function remove(act: Act, version: number, before: string): Promise<ReleaseResult> {
  const { session, grant } = act;
  try {
    await session.remove(grant.path, version, act.timeoutMs);
  } catch (error) {
    return afterRemove(act, error, before);
  }
  return {
    outcome: 'released',
    woken: unknown('waiters watch a node: ZooKeeper tells each of them itself'),
    reply: `${before}deleted at data version ${version}`,
    fenceRaisedTo: undefined,
  };
}

/**
 * A node that takes the name right after the writes has to be written just as often by its owner,
 * before the delete arrives, to have the version that is deleted. Once or twice is what owners do.
 * The first write goes alone: only when it met the right node do the others follow.
 */
const raises = 16;

async function bumpAndRemove(act: Act, data: Buffer, version: number): Promise<ReleaseResult> {
  const first = await write(act, data, version, 1);
  if ('outcome' in first) return first;
  const written = await write(act, data, first.version, raises - 1);
  if ('outcome' in written) return written;
  const { grant } = act;
  const raised = grant.version === undefined ? grant : { ...grant, version: written.version };
  const before = `version raised to ${written.version}, `;
  return remove({ ...act, grant: raised }, written.version, before);
}

/** As the library itself lets go: by data that say so, written under the same conditions. */
async function free(act: Act, data: Text, version: number): Promise<ReleaseResult> {
  const written = await write(act, Buffer.from(textToBytes(data)), version, 1);
  if ('outcome' in written) return written;
  return {
    outcome: 'released',
    woken: unknown('nobody is told: clients look by themselves'),
    reply: `${data} written at data version ${written.version}`,
    fenceRaisedTo: undefined,
  };
}

/**
 * Writes `times` in one go, each time on condition of the version before. Reads once more right
 * before, on the same connection: should another node have taken the name in between, its own data
 * are known and can be written back.
 * @returns the node's stat when it was always the node of the grant that was written
 */
async function write(
  act: Act,
  data: Buffer,
  version: number,
  times: number,
): Promise<NodeStat | ReleaseResult> {
  const { session, grant } = act;
  const versions = Array.from({ length: times }, (_, index) => version + index);
  const [reading, ...writings] = await Promise.allSettled([
    session.getData(grant.path),
    ...versions.map((at) => session.setData(grant.path, data, at, act.timeoutMs)),
  ]);
  const stats = writings.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = writings.find((one) => one.status === 'rejected');
  const stat = stats.findLast(({ czxid }) => czxid !== grant.czxid);
  if (stat === undefined) {
    const last = stats.at(-1);
    return failed === undefined && last !== undefined ? last : afterWrite(act, failed?.reason);
  }
  const theirs =
    reading.status === 'fulfilled' && reading.value.stat.czxid === stat.czxid
      ? reading.value.data
      : undefined;
  const restored = await restore(act, stat, data, theirs);
  return changed(
    `${namesBefore(act)} → another node, czxid ${stat.czxid}: version raised to ${stat.version}; ${restored}`,
    `the conditional write met czxid ${stat.czxid}: nothing was deleted`,
  );
}

/** Gives a node that took the name its own data back, if our write changed them. */
async function restore(
  { session, grant, timeoutMs }: Act,
  stat: NodeStat,
  written: Buffer,
  theirs: Buffer | undefined,
): Promise<string> {
  if (theirs === undefined) {
    return 'it came into being during the write: if its data were other than the old node’s, they are the old node’s now';
  }
  if (theirs.equals(written)) return 'its data are as they were';
  try {
    await session.setData(grant.path, theirs, stat.version, timeoutMs);
    return 'its own data were written back';
  } catch (error) {
    if (isNodeError(error, zooKeeperCodes.noNode)) return 'it is gone by now';
    if (isNodeError(error, zooKeeperCodes.badVersion)) return 'its owner has written it since';
    if (!(error instanceof FencepostError)) throw error;
    return `its own data could not be written back: ${error.message}`;
  }
}

/** The write failed: nothing was deleted, and no delete will be sent. */
async function afterWrite(act: Act, error: unknown): Promise<ReleaseResult> {
  if (!(error instanceof FencepostError)) throw error;
  if (error.definite) return afterAnswer(act, error, '', 'write the node');
  const doubt =
    'no answer to the conditional write, and no delete was sent; its version may be raised';
  const now = await lookAfresh(act);
  if (typeof now === 'string') return lost(`${doubt}; it could not be read again: ${now}`, error);
  if (now.kind !== 'same') return fromLook(now, `${error.message}; ${doubt}`);
  return { ...refusal(doubt, { remedy: 'plan again' }), reply: error.message };
}

async function afterRemove(act: Act, error: unknown, before: string): Promise<ReleaseResult> {
  if (!(error instanceof FencepostError)) throw error;
  if (error.definite) return afterAnswer(act, error, before, 'delete below its parent');
  const now = await lookAfresh(act);
  if (typeof now === 'string') {
    return lost(`the reply was lost, and the node could not be read again: ${now}`, error);
  }
  return lost(`the reply was lost; ${lostReason(now)}`, error);
}

/** What the node looks like after a lost reply proves nothing: the request may still be on its way. */
function lostReason(now: Look): string {
  switch (now.kind) {
    case 'same':
      return 'the node is still there, but the request may be on its way: look again in a moment';
    case 'gone':
      return 'the node is gone, by this release or by itself';
    case 'changed':
      return `another grant is there (${now.now}); the one seen ended, by this release or by itself`;
    case 'refused':
      return now.reason;
  }
}

/** The server answered with an error: the request had no effect. */
async function afterAnswer(
  act: Act,
  error: FencepostError,
  before: string,
  right: string,
): Promise<ReleaseResult> {
  const reply = `${before}${error.message}`;
  const raised = before === '' ? '' : `; ${before}nothing was deleted`;
  if (isRefused(error)) return { ...noRight(right, raised), reply };
  if (isNodeError(error, zooKeeperCodes.notEmpty)) {
    return { ...refusal(`the node has children: it is not deleted with them${raised}`, {}), reply };
  }
  const stale =
    isNodeError(error, zooKeeperCodes.badVersion) || isNodeError(error, zooKeeperCodes.noNode);
  if (!stale) return { ...refusal(`${error.message}${raised}`, {}), reply };
  const now = await look(act, act.grant, act.seen);
  if (now.kind !== 'same') return fromLook(now, reply);
  return changed(`${namesBefore(act)}: its data were written at the same moment${raised}`, reply);
}

function noRight(right: string, raised: string): Refusal {
  return refusal(`this identity may not ${right}${raised}`, {
    remedy: 'give the user and password that the node’s ACL names in the target',
  });
}

/** On a session of its own: the one that lost a reply is over. A string is why it cannot be read. */
async function lookAfresh(act: Act): Promise<Look | string> {
  try {
    return await look({ ...act, session: await act.open() }, act.grant, act.seen);
  } catch (error) {
    if (error instanceof FencepostError) return error.message;
    throw error;
  }
}
