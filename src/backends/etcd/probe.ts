/** What the cluster is, whether it is whole, and what can be done on it. */
import type { IMember } from 'etcd3';
import { FencepostError } from '../../domain/errors.ts';
import { known, partial, unknown, type Known } from '../../domain/known.ts';
import type { Ability, Capabilities, Probe } from '../../domain/probe.ts';
import { stringToText } from '../../domain/text.ts';
import type { EtcdLink, MemberAnswer } from '../../clients/etcd/link.ts';
import { readContext } from './server-view.ts';

export async function probeCluster(link: EtcdLink, signal: AbortSignal): Promise<Probe> {
  const context = await readContext(link, signal);
  // A read through the quorum: the status above is one member's own view.
  const alarms = await orUnknown(readAlarms(link, signal));
  const members = await orUnknown(readMembers(link, signal));
  const answers = await link.askAll(signal);
  return {
    version: versionOf(answers),
    topology: topologyOf(members, answers),
    clusterId: known(context.clusterId),
    server: context.server,
    writable: writableOf(alarms),
    healthy: healthOf(alarms, answers),
    clockOffsetMs: unknown('etcd does not tell its clock, and no decision needs it'),
    capabilities,
  };
}

const capabilities: Capabilities = {
  release: { can: true },
  hold: { can: true },
  endSession: { can: true },
  history: { can: true },
  clients: { can: false, reason: 'etcd does not tell which client keeps a lease alive' },
  waiters: { can: true },
};

/** A refusal leaves its fact unknown; a cluster that fails is an error. */
export async function orUnknown<T>(work: Promise<T>): Promise<Known<T>> {
  try {
    return known(await work);
  } catch (error) {
    if (error instanceof FencepostError && error.code === 'permission-denied') {
      return unknown(error.message, error.hint);
    }
    throw error;
  }
}

/** Names of the alarms that are raised, e.g. `NOSPACE`. */
export async function readAlarms(link: EtcdLink, signal: AbortSignal): Promise<readonly string[]> {
  const request = { action: 'Get', memberID: '0', alarm: 'None' } as const;
  const reply = await link.read((api, options) => api.maintenance.alarm(request, options), {
    signal,
  });
  return reply.alarms.map(({ alarm, memberID }) => {
    return `${alarm.toUpperCase()} on member ${BigInt(memberID).toString(16)}`;
  });
}

export async function readMembers(
  link: EtcdLink,
  signal: AbortSignal,
): Promise<readonly IMember[]> {
  const reply = await link.read((api, options) => api.cluster.memberList({}, options), { signal });
  return reply.members;
}

function versionOf(answers: readonly MemberAnswer[]): Known<string> {
  const versions = new Set(answers.flatMap(({ status }) => status?.version ?? []));
  if (versions.size === 0) return unknown('no member tells its version to this account');
  return known(`etcd ${[...versions].map((one) => stringToText(one)).join(' and ')}`);
}

function topologyOf(
  members: Known<readonly IMember[]>,
  answers: readonly MemberAnswer[],
): Known<string> {
  if (members.kind === 'unknown') return members;
  const leader = answers.flatMap(({ status }) => status?.leader ?? []).find((id) => id !== '0');
  const named = members.value.find(({ ID }) => ID === leader)?.name;
  const count = members.value.length;
  const size = count === 1 ? 'one member' : `${count} members`;
  const leads = named === undefined ? '' : `, ${stringToText(named)} leads`;
  const silent = answers.filter(({ error }) => error !== undefined).map(({ member }) => member);
  if (silent.length > 0) {
    return partial(`${size}${leads}`, `${silent.join(' and ')} did not answer`);
  }
  return known(`${size}${leads}`);
}

function writableOf(alarms: Known<readonly string[]>): Ability {
  const full =
    alarms.kind === 'unknown' ? [] : alarms.value.filter((one) => one.startsWith('NOSPACE'));
  if (full.length === 0) return { can: true };
  return {
    can: false,
    reason: `alarm ${full.join(', ')}: deletions are taken, everything else is refused`,
    remedy: 'compact, defragment and disarm the alarm',
  };
}

function healthOf(
  alarms: Known<readonly string[]>,
  answers: readonly MemberAnswer[],
): Known<Ability> {
  if (alarms.kind === 'unknown') return alarms;
  const troubles = [
    ...alarms.value.map((one) => `alarm ${one}`),
    ...answers.flatMap(({ member, status, error }) => {
      if (error !== undefined) return [`${member} does not answer`];
      return status?.leader === '0' ? [`${member} sees no leader`] : [];
    }),
  ];
  if (troubles.length === 0) return known({ can: true });
  return known({ can: false, reason: troubles.join('; ') });
}
