/** What the ensemble is, whether it is whole, and what can be done on it. */
import { known, partial, unknown, type Known } from '../../domain/known.ts';
import type { ServerView } from '../../domain/lock.ts';
import type { Ability, Capabilities, Probe } from '../../domain/probe.ts';
import type { Target } from '../../domain/target.ts';
import type { Session } from '../../clients/zookeeper/session.ts';
import { readMembers, type MemberState } from './ensemble.ts';
import { readConfig, readFingerprint, type EnsembleConfig } from './fingerprint.ts';
import { readConnections } from '../../clients/zookeeper/members.ts';
import { noEndSession, noHold } from './preview.ts';

/** An open session proves a leader and a majority: opening one is a write that both commit. */
export async function probeEnsemble(
  target: Target,
  { session, server }: { readonly session: Session; readonly server: ServerView },
  memberTimeoutMs: number,
): Promise<Probe> {
  const config = await readConfig(session, target.path);
  const [members, connections, clusterId] = await Promise.all([
    readMembers(target, memberTimeoutMs),
    readConnections(target, memberTimeoutMs),
    readFingerprint(session, target.path, config),
  ]);
  return {
    version: versionOf(members),
    topology: topologyOf(members, config),
    clusterId,
    server,
    writable: writableOf(server),
    healthy: healthOf(members),
    clockOffsetMs: unknown('ZooKeeper does not tell its clock, and no decision needs it'),
    capabilities: capabilities(connections),
  };
}

function capabilities(connections: Known<unknown>): Capabilities {
  const told: Ability =
    connections.kind === 'unknown' ? { can: false, ...withoutKind(connections) } : { can: true };
  return {
    // The ACL of each node decides: it is known only when the write is tried.
    release: { can: true },
    hold: noHold,
    endSession: noEndSession,
    history: { can: false, reason: 'ZooKeeper keeps no past holders' },
    clients: told,
    waiters: { can: true },
  };
}

function withoutKind(hole: { readonly reason: string; readonly remedy?: string }): {
  readonly reason: string;
  readonly remedy?: string;
} {
  const { reason, remedy } = hole;
  return remedy === undefined ? { reason } : { reason, remedy };
}

function versionOf(members: readonly MemberState[]): Known<string> {
  const versions = new Set(
    members.flatMap(({ version }) => (version.kind === 'unknown' ? [] : version.value)),
  );
  if (versions.size > 0) return known(`ZooKeeper ${[...versions].join(' and ')}`);
  return members.find(({ version }) => version.kind === 'unknown')?.version ?? unknown('no member');
}

function topologyOf(
  members: readonly MemberState[],
  config: EnsembleConfig | undefined,
): Known<string> {
  const roles = members.flatMap(({ member, role }) =>
    role.kind === 'unknown' ? [] : [{ member, role: role.value }],
  );
  if (roles.some(({ role }) => role === 'standalone')) return known('standalone');
  const size = Math.max(config?.members.length ?? 0, members.length);
  const leader = roles.find(({ role }) => role === 'leader')?.member;
  const words = `ensemble of ${size}${leader === undefined ? '' : `, ${leader} leads`}`;
  const silent = members.filter(({ role }) => role.kind === 'unknown').map(({ member }) => member);
  if (silent.length > 0) return partial(words, `${silent.join(' and ')} did not tell its role`);
  return size > members.length
    ? partial(words, `the target names ${members.length} of them`)
    : known(words);
}

function writableOf({ endpoint, role }: ServerView): Ability {
  if (role.kind === 'unknown' || role.value !== 'read-only') return { can: true };
  return {
    can: false,
    reason: `${endpoint} is in read-only mode: it has lost its majority`,
    remedy: 'start the other members, or name one that serves',
  };
}

/** Followers forward writes, and none serves without a leader: one that serves will do. */
function healthOf(members: readonly MemberState[]): Known<Ability> {
  const troubles = members.flatMap(({ trouble }) => trouble ?? []);
  const roles = members.flatMap(({ role }) => (role.kind === 'unknown' ? [] : [role.value]));
  if (roles.includes('read-only')) troubles.push('a member is in read-only mode');
  if (troubles.length > 0) return known({ can: false, reason: troubles.join('; ') });
  if (roles.length > 0) return known({ can: true });
  const hole = members.find(({ role }) => role.kind === 'unknown')?.role;
  return hole?.kind === 'unknown' ? hole : unknown('no member tells its role');
}
