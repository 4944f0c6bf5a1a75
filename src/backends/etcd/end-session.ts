/**
 * Ends the owner's lease after a release. It cannot be made conditional: between the last look and
 * the revocation the session may have put another lock on its lease. A watch that begins right
 * after the releasing transaction tells every key that fell, and whether one of them was newer.
 */
import { FencepostError } from '../../domain/errors.ts';
import { known, unknown, type Known } from '../../domain/known.ts';
import type { EndedSession, ReleaseResult } from '../../domain/release.ts';
import { bytesToText, textToBytes, type Text } from '../../domain/text.ts';
import type { EtcdLink } from '../../clients/etcd/link.ts';
import { openWatch, readUntil, type KeyEvent, type Watch } from '../../clients/etcd/watch.ts';
import { leaseHex } from '../../conventions/etcd-queue.ts';
import type { StoredGrant } from './identity.ts';
import { everyKey, prefixRange, type KeyRange } from './key-range.ts';
import { readKey } from './range.ts';

export interface ReleasedGrant {
  readonly grant: StoredGrant;
  readonly released: ReleaseResult;
  /** Of the transaction that released it. */
  readonly revision: bigint;
  readonly timeoutMs: number;
}

interface Fallen {
  readonly key: Text;
  /** Created after the release: it was no part of what the operator saw. Undefined: not known. */
  readonly newer: boolean | undefined;
}

/** Made anew for each request: a shared signal would hold the listeners of all that are under way. */
function unabortable(): AbortSignal {
  return new AbortController().signal;
}

/**
 * @returns `released`, `foreign-removed`, or `unknown` when the lock was released and what fell with
 *   the session could not be seen in full; each with what became of the session
 */
export async function endSession(link: EtcdLink, of: ReleasedGrant): Promise<ReleaseResult> {
  const { released } = of;
  const watching = await watchAfter(link, of);
  if (watching === undefined) {
    const text = 'left alone: this account may not watch what would fall with it';
    return { ...released, session: { ended: known(false), text } };
  }
  const { watch, hole } = watching;
  const revoked = await revoke(link, of);
  const { ended } = revoked;
  try {
    const fallen = await readFallen(link, watch, of);
    const fell = fallen.length === 0 ? 'nothing else' : fallen.map(({ key }) => key).join(', ');
    const session = { ended, text: `${revoked.words}; with it fell ${fell}` };
    const removed = fallen.filter((one) => one.newer === true).map(({ key }) => key);
    if (removed.length > 0)
      return { ...base(released), outcome: 'foreign-removed', removed, session };
    const untold = fallen.filter((one) => one.newer === undefined).map(({ key }) => key);
    const holes = [
      ...(hole === undefined ? [] : [hole]),
      ...(untold.length === 0 ? [] : [`of ${untold.join(', ')} it is not known whose it was`]),
    ];
    return holes.length === 0
      ? { ...released, session }
      : unsure(released, session, holes.join('; '));
  } catch (error) {
    if (!(error instanceof FencepostError)) throw error;
    const session = { ended, text: revoked.words };
    return unsure(
      released,
      session,
      `what fell with its session could not be read: ${error.message}`,
    );
  } finally {
    watch.close();
  }
}

function base({
  reply,
  fenceRaisedTo,
}: ReleaseResult): Pick<ReleaseResult, 'reply' | 'fenceRaisedTo'> {
  return { reply, fenceRaisedTo };
}

function unsure(released: ReleaseResult, session: EndedSession, hole: string): ReleaseResult {
  const reason = `the lock was released, but ${hole}`;
  return { ...base(released), outcome: 'unknown', reason, session };
}

async function readFallen(
  link: EtcdLink,
  watch: Watch,
  of: ReleasedGrant,
): Promise<readonly Fallen[]> {
  const { revision } = await readKey(link, of.grant.key, unabortable());
  const fallen: Fallen[] = [];
  await readUntil(watch, revision, (events) => {
    fallen.push(...events.flatMap((event) => toFallen(event, of)));
  });
  return fallen;
}

/** Every key where the account may; else those beside the lock, which the answer then says. */
async function watchAfter(
  link: EtcdLink,
  of: ReleasedGrant,
): Promise<{ readonly watch: Watch; readonly hole: string | undefined } | undefined> {
  const all = await tryWatch(link, everyKey, of);
  if (all !== undefined) return { watch: all, hole: undefined };
  const beside = prefixRange(textToBytes(`${of.grant.name}/`));
  const some = await tryWatch(link, beside, of);
  return some && { watch: some, hole: `only keys under ${of.grant.name}/ could be watched` };
}

async function tryWatch(
  link: EtcdLink,
  range: KeyRange,
  { revision, timeoutMs }: ReleasedGrant,
): Promise<Watch | undefined> {
  const request = { ...range, startRevision: revision + 1n, previous: true };
  const watch = await openWatch(link, request, unabortable());
  try {
    // The first message says that it stands: only then may anything be revoked.
    if ((await watch.next(timeoutMs))?.kind === 'created') return watch;
  } catch (error) {
    if (!(error instanceof FencepostError)) throw error;
    // Refused or broken: the caller takes a narrower watch, or leaves the session alone.
  }
  watch.close();
  return undefined;
}

async function revoke(
  link: EtcdLink,
  { grant, timeoutMs }: ReleasedGrant,
): Promise<{ readonly ended: Known<boolean>; readonly words: string }> {
  const name = `lease ${leaseHex(grant.lease)}`;
  const request = { ID: String(grant.lease) };
  try {
    await link.write((api, options) => api.leaseClient.leaseRevoke(request, options), {
      signal: unabortable(),
      timeoutMs,
    });
    return { ended: known(true), words: `${name} was revoked` };
  } catch (error) {
    if (!(error instanceof FencepostError)) throw error;
    if (error.code === 'lease-not-found') {
      return { ended: known(true), words: `${name} had ended by itself` };
    }
    return error.definite
      ? { ended: known(false), words: `${name} was not revoked: ${error.message}` }
      : {
          ended: unknown('the reply was lost'),
          words: `whether ${name} was revoked is unknown: ${error.message}`,
        };
  }
}

/** A deletion whose key's past is compacted already does not tell on which lease it was. */
function toFallen(event: KeyEvent, { grant, revision }: ReleasedGrant): readonly Fallen[] {
  const { prev_kv: before } = event;
  if (event.type !== 'Delete') return [];
  const key = bytesToText(event.kv.key);
  if (before === null) return [{ key, newer: undefined }];
  if (BigInt(before.lease) !== grant.lease) return [];
  return [{ key, newer: BigInt(before.create_revision) > revision }];
}
