/**
 * Carries a release out: looks again, then sends one transaction once. It compares the key's create
 * revision, modification revision and lease with what was seen, and deletes (or with a hold puts
 * the operator's record) only if all are the same. A lost reply is never answered by sending it again.
 */
import type { ITxnRequest, ITxnResponse } from 'etcd3';
import { FencepostError } from '../../domain/errors.ts';
import { unknown } from '../../domain/known.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import type { ReleaseOptions, ReleaseResult } from '../../domain/release.ts';
import { textToBytes } from '../../domain/text.ts';
import { interrupted, type EtcdLink } from '../../clients/etcd/link.ts';
import type { EtcdKey } from '../../conventions/convention.ts';
import { leaseHex } from '../../conventions/etcd-queue.ts';
import { endSession } from './end-session.ts';
import { planFloor, type FloorStep } from './fence-floor.ts';
import { isGrant, readIdentity, type StoredGrant } from './identity.ts';
import { impossible } from './preview.ts';
import { readKey, toKey } from './range.ts';
import type { EtcdWorld } from './world.ts';

/**
 * Once sent, only the deadline ends the wait: an interruption must not leave the outcome open.
 * Made anew for each request: a shared signal would hold the listeners of all releases under way.
 */
function unabortable(): AbortSignal {
  return new AbortController().signal;
}

/** @throws {TargetError} when the cluster cannot be read: nothing was sent */
export async function releaseLock(
  { link, conventions }: EtcdWorld,
  seen: LockSnapshot,
  how: ReleaseOptions,
  signal: AbortSignal,
): Promise<ReleaseResult> {
  const no = impossible(conventions, seen, how);
  if (no !== undefined) return refused(no.reason, no.remedy);
  if (seen.identity === undefined) return refused('there is no key to release');
  const grant = readIdentity(seen.identity.record);
  const early = await lookAgain(link, grant, signal);
  if (early !== undefined) return early;
  const floor = how.fenceFloor && (await planFloor(link, grant, how.fenceFloor, signal));
  if (floor !== undefined && 'can' in floor) return refused(floor.reason, floor.remedy);
  if (signal.aborted) throw interrupted();
  const step: Step = { grant, floor, timeoutMs: how.timeoutMs };
  if (how.hold !== undefined) return replace(link, step, how.hold);
  const result = await transact(link, step, deletion(grant));
  if (!('revision' in result)) return result;
  const released: ReleaseResult = {
    outcome: 'released',
    woken: unknown('waiters watch the key: etcd tells each of them itself'),
    reply: `transaction succeeded at revision ${result.revision}${floorWords(step)}`,
    fenceRaisedTo: floor?.raisedTo,
  };
  return how.endSession === true
    ? endSession(link, { grant, released, revision: result.revision, timeoutMs: how.timeoutMs })
    : released;
}

/** Undefined: it is still the grant that was seen, on the cluster where it was seen. */
async function lookAgain(
  link: EtcdLink,
  grant: StoredGrant,
  signal: AbortSignal,
): Promise<ReleaseResult | undefined> {
  const { clusterId, key } = await readKey(link, grant.key, signal);
  if (clusterId === grant.clusterId) return compare(grant, key, 'nothing was sent');
  return refused(`cluster ${clusterId} answers, and ${grant.clusterId} was seen`, 'plan again');
}

type Success = NonNullable<ITxnRequest['success']>;

/** One release: the grant, the floor that is written with it, and the time it may take. */
interface Step {
  readonly grant: StoredGrant;
  readonly floor: FloorStep | undefined;
  readonly timeoutMs: number;
}

function floorWords({ floor }: Step): string {
  return floor === undefined ? '' : `; ${floor.words}`;
}

function keyBytes(grant: StoredGrant): Buffer {
  return Buffer.from(textToBytes(grant.key));
}

function deletion(grant: StoredGrant): Success {
  return [{ request_delete_range: { key: keyBytes(grant) } }];
}

/** Sends the transaction once. `revision`: it took effect there. */
async function transact(
  link: EtcdLink,
  step: Step,
  success: Success,
): Promise<ReleaseResult | { readonly revision: bigint }> {
  const { timeoutMs } = step;
  let reply: ITxnResponse;
  try {
    reply = await link.write((api, options) => api.kv.txn(toRequest(step, success), options), {
      signal: unabortable(),
      timeoutMs,
    });
  } catch (error) {
    return afterError(link, step.grant, error);
  }
  return reply.succeeded ? { revision: BigInt(reply.header.revision) } : notApplied(step, reply);
}

function toRequest({ grant, floor }: Step, success: Success): ITxnRequest {
  const key = keyBytes(grant);
  return {
    compare: [
      { key, target: 'Create', result: 'Equal', create_revision: String(grant.createRevision) },
      { key, target: 'Mod', result: 'Equal', mod_revision: String(grant.modRevision) },
      { key, target: 'Lease', result: 'Equal', lease: String(grant.lease) },
      ...(floor?.compare ?? []),
    ],
    success: [...success, ...(floor?.success ?? [])],
    failure: [{ request_range: { key } }],
  };
}

/** Something was not as it had been seen: the key, or the floor. */
function notApplied({ grant, floor }: Step, { header, responses }: ITxnResponse): ReleaseResult {
  const words = `transaction compared and deleted nothing at revision ${header.revision}`;
  const [now] = responses[0]?.response_range.kvs ?? [];
  const changed = compare(grant, now && toKey(now), words);
  if (changed !== undefined) return changed;
  if (floor?.raisedTo === undefined) return unknownOutcome('the server contradicts itself', words);
  const moved = `the floor ${floor.record} was written by somebody else meanwhile`;
  return { ...refused(moved, 'plan again'), reply: words };
}

/** The operator's key stands where the owner's stood, so the create revision stays the same. */
async function replace(
  link: EtcdLink,
  step: Step,
  hold: NonNullable<ReleaseOptions['hold']>,
): Promise<ReleaseResult> {
  const { grant, timeoutMs } = step;
  const lease = await grantLease(link, hold.ttlMs, timeoutMs);
  if (lease instanceof FencepostError) {
    return refused(`no lease for the hold: ${lease.message}`, lease.hint);
  }
  const value = Buffer.from(textToBytes(hold.owner));
  const put: Success = [{ request_put: { key: keyBytes(grant), value, lease: String(lease) } }];
  const result = await transact(link, step, put);
  const held = 'revision' in result || (await holdsKey(link, grant, result, lease));
  if (held) {
    return {
      outcome: 'released',
      woken: unknown('nobody is woken: the operator holds it'),
      reply: `held under lease ${leaseHex(lease)}${'revision' in result ? ` since revision ${result.revision}` : ', seen after the reply was lost'}${floorWords(step)}`,
      fenceRaisedTo: step.floor?.raisedTo,
    };
  }
  if (result.outcome !== 'unknown') await dropLease(link, lease, timeoutMs);
  return result;
}

/** After a lost reply: a key on the operator's own new lease proves that the transaction succeeded. */
async function holdsKey(
  link: EtcdLink,
  grant: StoredGrant,
  result: ReleaseResult,
  lease: bigint,
): Promise<boolean> {
  if (result.outcome !== 'unknown') return false;
  try {
    return (await readKey(link, grant.key, unabortable())).key?.lease === lease;
  } catch (error) {
    // The outcome stays unknown, and its reason is told already.
    if (error instanceof FencepostError) return false;
    throw error;
  }
}

async function grantLease(
  link: EtcdLink,
  ttlMs: number,
  timeoutMs: number,
): Promise<bigint | FencepostError> {
  const request = { TTL: String(Math.ceil(ttlMs / 1000)), ID: '0' };
  try {
    const reply = await link.write((api, options) => api.leaseClient.leaseGrant(request, options), {
      signal: unabortable(),
      timeoutMs,
    });
    return BigInt(reply.ID);
  } catch (error) {
    // A lease that was granted after all hangs on no key and ends by itself.
    if (error instanceof FencepostError) return error;
    throw error;
  }
}

async function dropLease(link: EtcdLink, lease: bigint, timeoutMs: number): Promise<void> {
  const request = { ID: String(lease) };
  try {
    await link.write((api, options) => api.leaseClient.leaseRevoke(request, options), {
      signal: unabortable(),
      timeoutMs,
    });
  } catch (error) {
    // Our own lease without a key: it ends by itself.
    if (!(error instanceof FencepostError)) throw error;
  }
}

/** Undefined: still the same grant. */
function compare(
  grant: StoredGrant,
  now: EtcdKey | undefined,
  reply: string,
): ReleaseResult | undefined {
  const base = { reply, fenceRaisedTo: undefined };
  if (now === undefined) return { ...base, outcome: 'already-gone' };
  if (isGrant(grant, now)) return undefined;
  return { ...base, outcome: 'changed-hands', now: `${describe(grant)} → ${describe(now)}` };
}

function describe(
  key: Pick<EtcdKey, 'createRevision' | 'modRevision' | 'lease'> & { readonly value?: string },
): string {
  const value = key.value === undefined || key.value === '' ? '' : `${key.value}, `;
  const lease = key.lease === 0n ? 'no lease' : `lease ${leaseHex(key.lease)}`;
  return `${value}created ${key.createRevision}, changed ${key.modRevision}, ${lease}`;
}

/** An error of the write: surely without effect, or to be settled by a fresh look through the quorum. */
async function afterError(
  link: EtcdLink,
  grant: StoredGrant,
  error: unknown,
): Promise<ReleaseResult> {
  if (!(error instanceof FencepostError)) throw error;
  if (error.definite) return { ...refused(error.message, error.hint), reply: error.message };
  try {
    const now = await readKey(link, grant.key, unabortable());
    return unknownOutcome(`the reply was lost; ${lostReason(grant, now.key)}`, error.message);
  } catch (second) {
    const why = second instanceof Error ? second.message : 'the look at it failed';
    return unknownOutcome(
      `the reply was lost, and the key could not be read again: ${why}`,
      error.message,
    );
  }
}

function lostReason(grant: StoredGrant, now: EtcdKey | undefined): string {
  if (now === undefined) return 'the key is gone, by this release or by itself';
  return isGrant(grant, now)
    ? 'the key is still there, but the request may be on its way: look again in a moment'
    : `another grant is there (${describe(now)}); the one seen ended, by this release or by itself`;
}

function unknownOutcome(reason: string, reply: string): ReleaseResult {
  return { outcome: 'unknown', reason, reply, fenceRaisedTo: undefined };
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
