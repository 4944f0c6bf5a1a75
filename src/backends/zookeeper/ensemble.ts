/** What each member says of itself: its role, its version, whether it serves. */
import { unknown, type Known } from '../../domain/known.ts';
import type { ServerView } from '../../domain/lock.ts';
import { displayEndpoint, displayTarget, type Target } from '../../domain/target.ts';
import { stringToText } from '../../domain/text.ts';
import type { Session } from '../../clients/zookeeper/session.ts';
import { askAdminServer } from '../../clients/zookeeper/admin-server.ts';
import { askWord } from '../../clients/zookeeper/four-letter-words.ts';
import { memberName } from '../../clients/zookeeper/members.ts';

export interface MemberState {
  /** `host:port`, as in the target. */
  readonly member: string;
  /** `leader`, `follower`, `observer`, `standalone`, `read-only`. */
  readonly role: Known<string>;
  readonly version: Known<string>;
  /** Set when the member does not serve, or does not answer. */
  readonly trouble: string | undefined;
}

/** Every member's own word, by `srvr`, or by the AdminServer where that is refused. */
export function readMembers(target: Target, timeoutMs: number): Promise<readonly MemberState[]> {
  return Promise.all(target.endpoints.map((_, index) => readMember(target, index, timeoutMs)));
}

async function readMember(target: Target, index: number, timeoutMs: number): Promise<MemberState> {
  const member = memberName(target, index);
  const reply = await askWord(target, index, 'srvr', timeoutMs);
  if (reply.kind === 'answer') return { member, ...parseServer(reply.text), trouble: undefined };
  if (reply.kind !== 'not-allowed') {
    const hole = unknown(reply.reason);
    const verb = reply.kind === 'silent' ? 'does not answer' : 'serves nobody';
    return { member, role: hole, version: hole, trouble: `${member} ${verb}` };
  }
  const admin = await askAdminServer(target, index, 'server_stats', timeoutMs);
  if (admin.kind !== 'unknown') {
    return { member, ...parseServerStats(admin.value), trouble: undefined };
  }
  const hole = unknown(
    `${reply.reason}; ${admin.reason}`,
    'allow the four-letter word srvr, or open the AdminServer (admin=PORT in the target)',
  );
  return { member, role: hole, version: hole, trouble: undefined };
}

type ServerWords = Pick<MemberState, 'role' | 'version'>;

/** `srvr`. The version may hold `${mvngit.commit.id}`: only its numbers are read. */
export function parseServer(text: string): ServerWords {
  return {
    role: wordOr(/^Mode: ([\w-]+)/m.exec(text)?.[1], 'srvr'),
    version: wordOr(/^Zookeeper version: (\d+(?:\.\d+)*)/m.exec(text)?.[1], 'srvr'),
  };
}

/** AdminServer `server_stats`. */
export function parseServerStats(body: Readonly<Record<string, unknown>>): ServerWords {
  const stats = body['server_stats'];
  const state =
    typeof stats === 'object' && stats !== null && 'server_state' in stats
      ? stats.server_state
      : undefined;
  const version = typeof body['version'] === 'string' ? body['version'] : '';
  return {
    role: wordOr(typeof state === 'string' ? stringToText(state) : undefined, 'server_stats'),
    version: wordOr(/^\d+(?:\.\d+)*/.exec(version)?.[0], 'server_stats'),
  };
}

function wordOr(word: string | undefined, source: string): Known<string> {
  return word === undefined
    ? unknown(`the member does not tell it in ${source}`)
    : { kind: 'known', value: word };
}

/** The member that serves the session, and its role. */
export async function readServerView(
  target: Target,
  session: Session,
  timeoutMs: number,
): Promise<ServerView> {
  const used = session.member;
  const index = target.endpoints.findIndex(
    ({ host, port }) => host === used?.host && port === used.port,
  );
  const endpoint = used === undefined ? displayTarget(target) : displayEndpoint(used);
  if (index === -1) return { endpoint, role: unknown('which member answers is not known') };
  return { endpoint, role: (await readMember(target, index, timeoutMs)).role };
}
