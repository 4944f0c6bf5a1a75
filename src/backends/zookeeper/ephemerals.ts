/** The other ephemeral nodes of the holder's session, as the members' `dump` lists them. */
import { known, partial, unknown, type Known } from '../../domain/known.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import type { Target } from '../../domain/target.ts';
import { stringToText, type Text } from '../../domain/text.ts';
import { askAdminServer } from '../../clients/zookeeper/admin-server.ts';
import { fourLetterWord } from '../../clients/zookeeper/four-letter-words.ts';
import { toSessionId } from '../../clients/zookeeper/members.ts';
import { readIdentity } from './identity.ts';

/** More than this is told as a number. */
const shown = 20;

/** Adds to the lease what else ends with its session. */
export async function withSharedSession(
  { target, timeoutMs }: { readonly target: Target; readonly timeoutMs: number },
  snapshot: LockSnapshot,
  chroot: string,
): Promise<LockSnapshot> {
  const { lease } = snapshot;
  if (lease.kind !== 'session' || snapshot.identity === undefined) return snapshot;
  const all = await readEphemerals(target, BigInt(lease.sessionId), timeoutMs);
  const own = chroot + readIdentity(snapshot.identity).path;
  return { ...snapshot, lease: { ...lease, shared: without(all, own) } };
}

function without(all: Known<readonly string[]>, own: string): Known<readonly Text[]> {
  if (all.kind === 'unknown') return all;
  const others = all.value.filter((path) => path !== own).map(stringToText);
  return others.length <= shown
    ? known(others)
    : partial(others.slice(0, shown), `${others.length - shown} more are left out`);
}

/** Every member knows all ephemerals: the first that answers will do. */
async function readEphemerals(
  target: Target,
  sessionId: bigint,
  timeoutMs: number,
): Promise<Known<readonly string[]>> {
  let hole: Known<never> = unknown('no member');
  for (let index = 0; index < target.endpoints.length; index += 1) {
    const admin = await askAdminServer(target, index, 'dump', timeoutMs);
    if (admin.kind !== 'unknown') return known(ephemeralsFromAdmin(admin.value, sessionId));
    const word = await fourLetterWord(target, index, 'dump', timeoutMs);
    if (word.kind !== 'unknown') return known(parseEphemerals(word.value, sessionId));
    hole = unknown(
      `${admin.reason}; ${word.reason}`,
      'open the AdminServer (admin=PORT in the target) or allow the four-letter word dump',
    );
  }
  return hole;
}

/** AdminServer `dump`: session ids are the names of fields. */
export function ephemeralsFromAdmin(
  body: Readonly<Record<string, unknown>>,
  sessionId: bigint,
): readonly string[] {
  const bySession = body['session_id_to_ephemeral_paths'];
  if (typeof bySession !== 'object' || bySession === null) return [];
  for (const [id, paths] of Object.entries(bySession)) {
    if (toSessionId(id) !== sessionId || !Array.isArray(paths)) continue;
    return paths.filter((path) => typeof path === 'string');
  }
  return [];
}

/** `dump`: `0x…:` on a line of its own, then its paths, indented. */
export function parseEphemerals(text: string, sessionId: bigint): readonly string[] {
  const paths: string[] = [];
  let ours = false;
  for (const line of text.split('\n')) {
    const id = /^(0x[0-9a-f]+):$/.exec(line)?.[1];
    if (id !== undefined) ours = BigInt(id) === sessionId;
    else if (line.startsWith('\t/')) {
      if (ours) paths.push(line.slice(1));
    } else ours = false;
  }
  return paths;
}
