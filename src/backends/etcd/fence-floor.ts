/**
 * A floor for the fence: a key beside the lock with the smallest token that a resource may still
 * accept. It is raised above the token of the released grant in the very transaction that releases,
 * and it is compared there too, so that it never goes down and never overwrites what is no floor.
 */
import type { ITxnRequest } from 'etcd3';
import type { FencingToken } from '../../domain/fence.ts';
import type { FloorPreview } from '../../domain/release.ts';
import { textToBytes, type Text } from '../../domain/text.ts';
import type { EtcdLink } from '../../clients/etcd/link.ts';
import { queueOf } from '../../conventions/etcd-queue.ts';
import type { StoredGrant } from './identity.ts';
import { readKey } from './range.ts';

/** What a floor adds to the transaction. */
export interface FloorStep {
  readonly record: Text;
  readonly compare: NonNullable<ITxnRequest['compare']>;
  readonly success: NonNullable<ITxnRequest['success']>;
  /** Undefined: it is high enough already. */
  readonly raisedTo: FencingToken | undefined;
  /** For the reply, one phrase. */
  readonly words: string;
}

export interface NoFloor {
  readonly can: false;
  readonly reason: string;
  readonly remedy: string;
}

/** Whoever waits has a greater create revision than the holder: it stays above the floor. */
function floorOver(grant: StoredGrant): FencingToken {
  return grant.createRevision + 1n;
}

/** What can be said without a look. */
export function previewFloor(grant: StoredGrant, record: Text): FloorPreview {
  return misplaced(grant, record) ?? { can: true, record, atLeast: floorOver(grant) };
}

/** Under a lock's prefix a key is a contender: Go's mutex would wait for it for ever. */
function misplaced({ name, key }: StoredGrant, record: Text): NoFloor | undefined {
  const queue = queueOf({ key: record, lease: 0n });
  const own = record === name || record === key || record.startsWith(`${name}/`);
  if (!own && queue === undefined) return undefined;
  return no(
    `a floor at ${record} would lie under the lock ${own ? name : (queue ?? '')} and be taken for a contender`,
    'name a key that belongs to the resource',
  );
}

/** Looks at the floor as it is. @throws {FencepostError} when it cannot be read: nothing was sent */
export async function planFloor(
  link: EtcdLink,
  grant: StoredGrant,
  record: Text,
  signal: AbortSignal,
): Promise<FloorStep | NoFloor> {
  const wrong = misplaced(grant, record);
  if (wrong !== undefined) return wrong;
  const atLeast = floorOver(grant);
  const { key: now } = await readKey(link, record, signal);
  if (now !== undefined && (now.lease !== 0n || !/^\d{1,19}$/.test(now.value))) {
    return no(
      now.lease === 0n
        ? `${record} holds "${now.value.slice(0, 40)}", which is no number: it is no floor`
        : `${record} hangs on a lease and would go with it: it is no floor`,
      'name another key, or delete that one',
    );
  }
  if (now !== undefined && BigInt(now.value) >= atLeast) {
    const words = `floor ${record} is ${now.value} already`;
    return { record, compare: [], success: [], raisedTo: undefined, words };
  }
  const key = Buffer.from(textToBytes(record));
  const seen = String(now?.modRevision ?? 0n);
  return {
    record,
    compare: [{ key, target: 'Mod', result: 'Equal', mod_revision: seen }],
    success: [{ request_put: { key, value: Buffer.from(String(atLeast)) } }],
    raisedTo: atLeast,
    words: `floor ${record} is ${atLeast}`,
  };
}

function no(reason: string, remedy: string): NoFloor {
  return { can: false, reason, remedy };
}
