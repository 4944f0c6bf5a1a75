/**
 * Ends the owner's lease after a release. It cannot be made conditional: between the last look and
 * the revocation the session may have put another lock on its lease. A watch that begins right
 * after the releasing transaction tells every key that fell, and whether one of them was newer.
 */
import { FencepostError } from '../../domain/errors.ts';
import type { ReleaseResult } from '../../domain/release.ts';
import { bytesToText, textToBytes, type Text } from '../../domain/text.ts';
import type { EtcdLink } from '../../clients/etcd/link.ts';
import { openWatch, readUntil, type KeyEvent, type Watch } from '../../clients/etcd/watch.ts';
import { leaseHex } from '../../conventions/etcd-queue.ts';
import type { StoredGrant } from './identity.ts';
import { everyKey, prefixRange, readKey, type KeyRange } from './range.ts';

export interface ReleasedGrant {
  readonly grant: StoredGrant;
  readonly released: ReleaseResult;
  /** Of the transaction that released it. */
  readonly revision: bigint;
  readonly timeoutMs: number;
}

interface Fallen {
  readonly key: Text;
  /** Created after the release: it was no part of what the operator saw. */
  readonly newer: boolean;
}

/** Made anew for each request: a shared signal would hold the listeners of all that are under way. */
function unabortable(): AbortSignal {
  return new AbortController().signal;
}

/** @returns `released` with what fell in `reply`, or `foreign-removed` */
export async function endSession(link: EtcdLink, of: ReleasedGrant): Promise<ReleaseResult> {
  const { grant, released } = of;
  const watching = await watchAfter(link, of);
  if (watching === undefined) {
    return withReply(
      released,
      'the session was left alone: this account may not watch what would fall with it',
    );
  }
  const { watch, scope } = watching;
  try {
    const revoked = await revoke(link, of);
    const { revision } = await readKey(link, grant.key, unabortable());
    const fallen: Fallen[] = [];
    await readUntil(watch, revision, (events) => {
      fallen.push(...events.flatMap((event) => toFallen(event, of)));
    });
    const names = fallen.map(({ key }) => key);
    const fell = names.length === 0 ? 'nothing else fell' : `with it fell ${names.join(', ')}`;
    const words = `${revoked}; ${fell}${scope}`;
    const newer = fallen.filter((one) => one.newer).map(({ key }) => key);
    if (newer.length === 0) return withReply(released, words);
    return {
      outcome: 'foreign-removed',
      removed: newer,
      reply: `${released.reply}; ${words}`,
      fenceRaisedTo: released.fenceRaisedTo,
    };
  } catch (error) {
    if (!(error instanceof FencepostError)) throw error;
    return withReply(released, `what fell with the session could not be read: ${error.message}`);
  } finally {
    watch.close();
  }
}

function withReply(result: ReleaseResult, words: string): ReleaseResult {
  return { ...result, reply: `${result.reply}; ${words}` };
}

/** Every key where the account may; else those beside the lock, which the answer then says. */
async function watchAfter(
  link: EtcdLink,
  of: ReleasedGrant,
): Promise<{ readonly watch: Watch; readonly scope: string } | undefined> {
  const all = await tryWatch(link, everyKey, of);
  if (all !== undefined) return { watch: all, scope: '' };
  const beside = prefixRange(textToBytes(`${of.grant.name}/`));
  const some = await tryWatch(link, beside, of);
  return some && { watch: some, scope: ` (only keys under ${of.grant.name}/ could be watched)` };
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

async function revoke(link: EtcdLink, { grant, timeoutMs }: ReleasedGrant): Promise<string> {
  const name = `lease ${leaseHex(grant.lease)}`;
  const request = { ID: String(grant.lease) };
  try {
    await link.write((api, options) => api.leaseClient.leaseRevoke(request, options), {
      signal: unabortable(),
      timeoutMs,
    });
    return `${name} was revoked`;
  } catch (error) {
    if (!(error instanceof FencepostError)) throw error;
    if (error.code === 'lease-not-found') return `${name} had ended by itself`;
    return error.definite
      ? `${name} was not revoked: ${error.message}`
      : `whether ${name} was revoked is unknown: ${error.message}`;
  }
}

function toFallen(event: KeyEvent, { grant, revision }: ReleasedGrant): readonly Fallen[] {
  const { prev_kv: before } = event;
  if (event.type !== 'Delete' || before === null) return [];
  if (BigInt(before.lease) !== grant.lease) return [];
  return [{ key: bytesToText(event.kv.key), newer: BigInt(before.create_revision) > revision }];
}
