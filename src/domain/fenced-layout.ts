/**
 * Our own fenced lock on Redis, as bytes on the server: three keys under one hash tag, so that one
 * script may touch them all. Key names and field names only; how they are read or written is the
 * adapter's and the protocol's business.
 *
 * - `fencepost:{NAME}:lock`     HASH `owner`, `fence`, `grantedAt`, `leaseMs`, with a TTL: the grant
 * - `fencepost:{NAME}:fence`    STRING, integer, no TTL, never deleted: the highest token given
 * - `fencepost:{NAME}:history`  STREAM, capped: one entry per grant, release or forced release
 *
 * A token is taken (INCR) and written into the record and the stream by the script that grants.
 * Asking again with the same owner token gives the same grant: the record is the answer.
 */

export interface FencedKeys {
  readonly lock: string;
  readonly fence: string;
  readonly history: string;
}

const prefix = 'fencepost:{';
const suffixes = { lock: '}:lock', fence: '}:fence', history: '}:history' } as const;

/** Fields of the lock record. `grantedAt`: epoch ms by the server's TIME; `leaseMs`: as asked for. */
export const fencedFields = {
  owner: 'owner',
  fence: 'fence',
  grantedAt: 'grantedAt',
  leaseMs: 'leaseMs',
} as const;

/** Fields of one stream entry. `at`: epoch ms by the server's TIME. */
export const fencedEntryFields = {
  type: 'type',
  owner: 'owner',
  fence: 'fence',
  at: 'at',
} as const;

/** Values of an entry's `type`. Renewals are not recorded. An expiry leaves no entry. */
export const fencedEntryTypes = {
  grant: 'grant',
  release: 'release',
  forceRelease: 'force-release',
} as const;

/** The stream is trimmed to about this many entries (`XADD … MAXLEN ~`). */
export const fencedHistoryLength = 1000;

/**
 * Keys of the lock NAME. Names that are empty or begin with `}` share no cluster slot, because
 * their hash tag is empty.
 */
export function fencedKeys(name: string): FencedKeys {
  return {
    lock: `${prefix}${name}${suffixes.lock}`,
    fence: `${prefix}${name}${suffixes.fence}`,
    history: `${prefix}${name}${suffixes.history}`,
  };
}

/** Which lock a key belongs to and as what; undefined when it is none of ours. */
export function parseFencedKey(
  key: string,
): { readonly name: string; readonly part: keyof FencedKeys } | undefined {
  if (!key.startsWith(prefix)) return undefined;
  for (const part of ['lock', 'fence', 'history'] as const) {
    const suffix = suffixes[part];
    if (key.endsWith(suffix) && key.length > prefix.length + suffix.length) {
      return { name: key.slice(prefix.length, -suffix.length), part };
    }
  }
  return undefined;
}
