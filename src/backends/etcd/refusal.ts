/** Says what an account may read when it was refused a range, so that "refused" is not "no locks". */
import type { IPermission } from 'etcd3';
import { FencepostError, PermissionError } from '../../domain/errors.ts';
import { bytesToText, type Text } from '../../domain/text.ts';
import type { EtcdLink } from '../../clients/etcd/link.ts';
import { prefixRange } from './key-range.ts';

/**
 * @param what the range that was asked for, e.g. `every key` or `keys that begin with /locks`
 * @returns a PermissionError `range-refused` that names the readable ranges; other errors unchanged
 */
export async function explainRefusal(
  link: EtcdLink,
  error: unknown,
  what: string,
  signal: AbortSignal,
): Promise<unknown> {
  if (!(error instanceof FencepostError) || error.code !== 'permission-denied') return error;
  const user = link.username ?? '';
  const ranges = await readableRanges(link, user, signal);
  const first = ranges?.[0];
  return new PermissionError(
    `the roles of user "${user}" may not read the whole range (${what}) on ${link.display}`,
    {
      code: 'range-refused',
      hint:
        first === undefined
          ? 'give a prefix that they may read, e.g. fencepost ls "/locks/*"'
          : `give a prefix that they may read: ${ranges?.join(', ') ?? ''}; e.g. fencepost ls "${first}"`,
      cause: error,
      definite: true,
    },
  );
}

/** Patterns of what the user's roles may read; undefined when it may not ask that either. */
async function readableRanges(
  link: EtcdLink,
  name: string,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  try {
    const { roles } = await link.read((api, options) => api.auth.userGet({ name }, options), {
      signal,
    });
    const found = await Promise.all(
      roles.map((role) =>
        link.read((api, options) => api.auth.roleGet({ role }, options), { signal }),
      ),
    );
    return found.flatMap(({ perm }) => perm.filter(isReadable).map(toPattern));
  } catch (error) {
    // The refusal itself is told in any case; this was only to help.
    if (error instanceof PermissionError) return undefined;
    throw error;
  }
}

function isReadable({ permType }: IPermission): boolean {
  return permType === 'Read' || permType === 'Readwrite';
}

function toPattern({ key, range_end: end }: IPermission): string {
  if (end.length === 0) return bytesToText(key);
  const prefix = prefixRange(key).end;
  if (prefix !== undefined && end.equals(prefix)) return `${bytesToText(key)}*`;
  if (end.length === 1 && end[0] === 0) return `from ${bytesToText(key)} on`;
  const range: readonly [Text, Text] = [bytesToText(key), bytesToText(end)];
  return `from ${range[0]} up to ${range[1]}`;
}
