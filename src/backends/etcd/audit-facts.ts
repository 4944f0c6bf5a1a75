/** Reads what an audit judges of an etcd cluster: cheap reads of every member named, and nothing else. */
import type { IPermission } from 'etcd3';
import { EtcdLink, type Call, type MemberAnswer } from '../../clients/etcd/link.ts';
import { readMetrics } from '../../clients/etcd/metrics.ts';
import type { EtcdFacts, EtcdMemberFacts, EtcdStatus } from '../../domain/etcd-facts.ts';
import { FencepostError } from '../../domain/errors.ts';
import { known, partial, unknown, type Known } from '../../domain/known.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import { displayEndpoint, type Target } from '../../domain/target.ts';
import { stringToText, type Text } from '../../domain/text.ts';
import type { BackendOptions } from '../backend.ts';
import { readLeases } from './leases.ts';
import { pause } from './pause.ts';
import { orUnknown, readAlarms, readMembers } from './probe.ts';

/** Leases whose keys are asked for. */
const mostLeases = 100;
/** Between two looks at the lease lists, which follow the leader with a delay. */
const secondLookMs = 500;

/** How the cluster is reached. */
interface Way {
  readonly link: EtcdLink;
  readonly target: Target;
  readonly options: BackendOptions;
}

/** @throws {TargetError} unreachable; what was refused only leaves its fact unknown */
export async function readAuditFacts(
  way: Way,
  locks: readonly LockSnapshot[],
  signal: AbortSignal,
): Promise<EtcdFacts> {
  const { link, target } = way;
  const at = new Date().toISOString();
  const peers = await orUnknown(readMembers(link, signal));
  const openToAll = await isOpen(way, signal);
  return {
    kind: 'etcd',
    server: link.member,
    at,
    encrypted: target.tls !== undefined,
    certificate: target.tls?.certFile !== undefined,
    peers:
      peers.kind === 'unknown'
        ? peers
        : known(
            peers.value.map(({ name, ID, isLearner }) => ({
              name: stringToText(name),
              id: BigInt(ID).toString(16),
              learner: isLearner,
            })),
          ),
    members: await readEach(way, signal),
    alarms: await orUnknown(readAlarms(link, signal)),
    openToAll,
    leaseKeys: await readLeaseKeys(link, locks, signal),
    wideRoles: await readWideRoles(link, signal),
    account: known(target.username === undefined ? noUser : stringToText(target.username)),
    mayWrite: await mayWrite(way, openToAll, signal),
  };
}

const noUser = stringToText('no user');

async function readEach(way: Way, signal: AbortSignal): Promise<readonly EtcdMemberFacts[]> {
  const { link, target, options } = way;
  const answers = await link.askAll(signal);
  const metrics = await Promise.all(
    target.endpoints.map((one) => readMetrics(one, target.tls, options.connectTimeoutMs)),
  );
  const looks = [await leaseLists(link, signal)];
  if (answers.length > 1) {
    await pause(secondLookMs, signal);
    looks.push(await leaseLists(link, signal));
  }
  return target.endpoints.map((endpoint, index) => ({
    member: displayEndpoint(endpoint),
    status: statusOf(answers[index]),
    metrics: metrics[index] ?? unknown('not asked'),
    leases: bothLooks(looks.map((look) => look[index] ?? unknown('not asked'))),
  }));
}

function statusOf(answer: MemberAnswer | undefined): Known<EtcdStatus> {
  if (answer?.error !== undefined) return unknown(answer.error.message, answer.error.hint);
  const status = answer?.status;
  if (status === undefined) {
    return unknown('the status of a member is refused to this account', 'needs the role root');
  }
  return known({
    version: stringToText(status.version),
    leader: status.leader === '0' ? undefined : BigInt(status.leader).toString(16),
    dbSizeBytes: Number(status.dbSize),
    behind: BigInt(status.raftIndex) - BigInt(status.raftAppliedIndex),
  });
}

type LeaseList = Known<readonly string[]>;

/** Of every member, from its own memory. */
async function leaseLists(link: EtcdLink, signal: AbortSignal): Promise<readonly LeaseList[]> {
  const ask: Call<readonly string[]> = async (api, how) =>
    (await api.leaseClient.leaseLeases(how)).leases.map(({ ID }) =>
      BigInt.asUintN(64, BigInt(ID)).toString(16),
    );
  const answers = await link.each(ask, { signal });
  return answers.map((answer) =>
    answer instanceof FencepostError ? unknown(answer.message, answer.hint) : known(answer),
  );
}

function bothLooks(looks: readonly LeaseList[]): Known<readonly (readonly string[])[]> {
  const hole = looks.find((look) => look.kind === 'unknown');
  return hole ?? known(looks.flatMap((look) => (look.kind === 'unknown' ? [] : [look.value])));
}

/** A request without a user, for a key that nobody has: refused once users are switched on. */
async function isOpen({ target, options }: Way, signal: AbortSignal): Promise<Known<boolean>> {
  const nobody = new EtcdLink({ ...target, username: undefined, password: undefined }, options);
  const key = Buffer.from('fencepost:audit');
  try {
    await nobody.read((api, how) => api.kv.range({ key, count_only: true }, how), { signal });
    return known(true);
  } catch (error) {
    if (!(error instanceof FencepostError)) throw error;
    const refused = ['password-needed', 'permission-denied'].includes(error.code);
    return refused ? known(false) : unknown(error.message, error.hint);
  } finally {
    nobody.close();
  }
}

async function readLeaseKeys(
  link: EtcdLink,
  locks: readonly LockSnapshot[],
  signal: AbortSignal,
): Promise<EtcdFacts['leaseKeys']> {
  const ids = [
    ...new Set(locks.flatMap(({ lease }) => (lease.kind === 'ttl' ? (lease.id ?? []) : []))),
  ];
  const asked = ids.slice(0, mostLeases);
  const states = await readLeases(
    link,
    asked.map((id) => BigInt(`0x${id}`)),
    { keys: true, signal },
  );
  const keys = new Map<Text, readonly Text[]>();
  let untold = 0;
  for (const id of asked) {
    const state = states.get(BigInt(`0x${id}`));
    if (state?.kind === 'living' && state.keys !== undefined) keys.set(id, state.keys);
    // One that has ended meanwhile has no keys any more.
    else if (state?.kind !== 'gone') untold += 1;
  }
  const holes = untold + ids.length - asked.length;
  if (holes === 0) return known(keys);
  return partial(
    keys,
    `the keys of ${holes} of ${ids.length} leases were not read`,
    'an account that may read every key is told those of every lease',
  );
}

const rootNeeded = {
  reason: 'the roles are told to root only',
  remedy: 'needs the role root: audit with such a user once, or look at `etcdctl role get ROLE`',
} as const;

async function readWideRoles(link: EtcdLink, signal: AbortSignal): Promise<EtcdFacts['wideRoles']> {
  const names = await orUnknown(
    link.read((api, how) => api.auth.roleList(how), { signal }).then(({ roles }) => roles),
  );
  if (names.kind === 'unknown') return unknown(rootNeeded.reason, rootNeeded.remedy);
  const wide: Text[] = [];
  for (const name of names.value.filter((one) => one !== 'root')) {
    if ((await permissionsOf(link, name, signal)).some(writesAll)) wide.push(stringToText(name));
  }
  return known(wide);
}

async function permissionsOf(
  link: EtcdLink,
  role: string,
  signal: AbortSignal,
): Promise<readonly IPermission[]> {
  return (await link.read((api, how) => api.auth.roleGet({ role }, how), { signal })).perm;
}

function writes({ permType }: IPermission): boolean {
  return permType !== 'Read';
}

/** From the first key to the end, as etcd writes it: a range_end of one zero byte. */
function writesAll(permission: IPermission): boolean {
  const { key, range_end: end } = permission;
  const fromStart = key.length === 0 || key.equals(Buffer.of(0));
  return writes(permission) && fromStart && end.equals(Buffer.of(0));
}

/** By the roles of this account, which every account may read of itself. */
async function mayWrite(
  { link, target }: Way,
  openToAll: Known<boolean>,
  signal: AbortSignal,
): Promise<Known<boolean>> {
  if (openToAll.kind === 'unknown' || openToAll.value) return openToAll;
  const { username } = target;
  if (username === undefined) return known(false);
  const own = await orUnknown(
    link.read((api, how) => api.auth.userGet({ name: username }, how), { signal }),
  );
  if (own.kind === 'unknown') return own;
  for (const role of own.value.roles) {
    if (role === 'root') return known(true);
    const may = await orUnknown(permissionsOf(link, role, signal));
    if (may.kind === 'unknown') return may;
    if (may.value.some(writes)) return known(true);
  }
  return known(false);
}
