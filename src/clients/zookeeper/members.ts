/**
 * What each member tells beside the client protocol: connections (who owns a session, from where,
 * last heard) and watches. Asked of the AdminServer first, then by four-letter word; a refusal is
 * recognised as such, never parsed as data.
 */
import { known, partial, unknown, type Known } from '../../domain/known.ts';
import { displayEndpoint, type Target } from '../../domain/target.ts';
import { stringToText } from '../../domain/text.ts';
import { askAdminServer } from './admin-server.ts';
import type { MemberConnection } from './member-connection.ts';
import { fourLetterWord, parseConnections, parseWatches } from './four-letter-words.ts';

/** Session id to the paths it watches. */
export type Watches = ReadonlyMap<bigint, ReadonlySet<string>>;

/** A connection list: complete only when every member answered. */
export async function readConnections(
  target: Target,
  timeoutMs: number,
): Promise<Known<ReadonlyMap<bigint, MemberConnection>>> {
  const answers = await askEveryMember(target, async (index) => {
    const admin = await askAdminServer(target, index, 'connections', timeoutMs);
    if (admin.kind !== 'unknown') return known(fromAdmin(admin.value, memberName(target, index)));
    const cons = await fourLetterWord(target, index, 'cons', timeoutMs);
    if (cons.kind === 'unknown') return unknown(`${reasonOf(admin)}; ${reasonOf(cons)}`, remedy);
    return known(parseConnections(cons.value, memberName(target, index)));
  });
  return join(answers, (lists) => new Map(lists.flat().map((one) => [one.sessionId, one])));
}

/** Which session watches which path, over all members. */
export async function readWatches(target: Target, timeoutMs: number): Promise<Known<Watches>> {
  const answers = await askEveryMember(target, async (index) => {
    const admin = await askAdminServer(target, index, 'watches_by_path', timeoutMs);
    if (admin.kind !== 'unknown') return known(watchesFromAdmin(admin.value));
    const words = await fourLetterWord(target, index, 'wchp', timeoutMs);
    if (words.kind === 'unknown') return unknown(`${reasonOf(admin)}; ${reasonOf(words)}`, remedy);
    return known(parseWatches(words.value));
  });
  return join(answers, (lists) => {
    const all = new Map<bigint, Set<string>>();
    for (const { sessionId, path } of lists.flat()) {
      const paths = all.get(sessionId) ?? new Set();
      all.set(sessionId, paths.add(path));
    }
    return all;
  });
}

const remedy =
  'open the AdminServer (admin=PORT in the target) or allow four-letter words: 4lw.commands.whitelist=cons,wchp,srvr';

function reasonOf(fact: Known<unknown>): string {
  return fact.kind === 'unknown' ? fact.reason : '';
}

export function memberName(target: Target, index: number): string {
  const endpoint = target.endpoints[index];
  return endpoint === undefined ? '?' : displayEndpoint(endpoint);
}

async function askEveryMember<T>(
  target: Target,
  ask: (index: number) => Promise<Known<T>>,
): Promise<readonly Known<T>[]> {
  return Promise.all(target.endpoints.map((_, index) => ask(index)));
}

/** All members: known. Some: partial, a missing entry proves nothing. None: unknown. */
function join<T, R>(answers: readonly Known<T>[], merge: (values: T[]) => R): Known<R> {
  const values = answers.flatMap((one) => (one.kind === 'unknown' ? [] : [one.value]));
  const failed = answers.find((one) => one.kind === 'unknown');
  if (failed === undefined) return known(merge(values));
  const reason = `${answers.length - values.length} of ${answers.length} members did not tell: ${failed.reason}`;
  return values.length === 0
    ? unknown(failed.reason, failed.remedy)
    : partial(merge(values), reason, failed.remedy);
}

function fromAdmin(body: Readonly<Record<string, unknown>>, member: string): MemberConnection[] {
  const lists = [body['connections'], body['secure_connections']];
  return lists.flatMap(rows).flatMap((row) => {
    const connection = adminConnection(row, member);
    return connection === undefined ? [] : [connection];
  });
}

function adminConnection(row: unknown, member: string): MemberConnection | undefined {
  if (typeof row !== 'object' || row === null) return undefined;
  const fields = new Map(Object.entries(row));
  const sessionId = toSessionId(fields.get('session_id'));
  if (sessionId === undefined || sessionId === 0n) return undefined;
  return {
    sessionId,
    address: stringToText(text(fields.get('remote_socket_address')).replace(/^\//, '')),
    timeoutMs: number(fields.get('session_timeout')),
    packetsReceived: number(fields.get('packets_received')),
    lastOperation: stringToText(text(fields.get('last_operation'))),
    lastResponseMs: number(fields.get('last_response_time')),
    member,
    source: 'AdminServer',
  };
}

function watchesFromAdmin(
  body: Readonly<Record<string, unknown>>,
): { sessionId: bigint; path: string }[] {
  // 3.8 says path_to_session_ids; the name differs between versions.
  const byPath = body['path_to_session_ids'] ?? body['path_to_ids'];
  if (typeof byPath !== 'object' || byPath === null) return [];
  return Object.entries(byPath).flatMap(([path, ids]) =>
    rows(ids).flatMap((id) => {
      const sessionId = toSessionId(id);
      return sessionId === undefined ? [] : [{ sessionId, path }];
    }),
  );
}

/** AdminServer prints session ids as signed decimals, some as 0x…: both become the unsigned id. */
export function toSessionId(value: unknown): bigint | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const digits = String(value);
  if (!/^(?:-?\d+|0x[0-9a-fA-F]+)$/.test(digits)) return undefined;
  return BigInt.asUintN(64, BigInt(digits));
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function rows(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}
