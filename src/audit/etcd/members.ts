/** Checks of the cluster: its size, its leader, its versions. */
import { formatDuration } from '../../domain/duration.ts';
import type { EtcdCheck } from '../check.ts';
import { inForm, judgeBy, judgeEach, judgeTogether, notApplicable, reading } from '../readings.ts';
import { everyMember, metrics, statuses } from './readings.ts';

export const clusterSize: EtcdCheck = {
  id: 'E01',
  title: 'size of the cluster',
  severity: 'high',
  reads: ['member list'],
  why: 'locks need a majority: fewer than three members survive no loss, and an even number no more than one less',
  fix: 'three or five voting members: `etcdctl member add`, and promote learners',
  judge: ({ server }) =>
    judgeBy(
      [
        reading('member list', server.peers, (peers) =>
          String(peers.filter(({ learner }) => !learner).length),
        ),
      ],
      ([voters = '']) => ({
        ok: Number(voters) >= 3 && Number(voters) % 2 === 1,
        found: `${voters} voting ${voters === '1' ? 'member' : 'members'}`,
        wanted: '3 or 5',
      }),
    ),
};

export const oneLeader: EtcdCheck = {
  id: 'E02',
  title: 'one leader',
  severity: 'high',
  reads: ['endpoint status of every member'],
  why: 'without a leader no lock is taken or renewed; members that name different ones are apart',
  fix: 'bring the members together again: `etcdctl endpoint status --cluster` shows who sees whom',
  judge: ({ server }) => {
    const leaders = statuses(server, ({ leader }) => leader ?? 'none');
    return judgeTogether(leaders, everyMember(server), {
      fault: (named) => {
        const distinct = new Set(named);
        if (!distinct.has('none') && distinct.size <= 1) return undefined;
        return `the members name ${[...distinct].join(' and ')}`;
      },
      sound: ([leader = '']) => `all name ${leader}`,
      wanted: 'one leader',
    });
  },
};

const mostChangesPerHour = 3;

export const leaderChanges: EtcdCheck = {
  id: 'E03',
  title: 'changes of the leader',
  severity: 'high',
  reads: ['/metrics etcd_server_leader_changes_seen_total, process_start_time_seconds'],
  why: 'a new leader starts every lease again at its full length: locks of dead owners live on',
  fix: 'look for a slow disk (E04) or network between the members, and raise --election-timeout',
  judge: ({ server }) => {
    const wanted = `at most ${mostChangesPerHour} an hour`;
    const name = 'etcd_server_leader_changes_seen_total';
    const readings = metrics(server, name, (values) => {
      const changes = values.get(name);
      const startS = values.get('process_start_time_seconds');
      if (changes === undefined || startS === undefined) return undefined;
      return `${changes} in ${Math.max(0, Math.round(Date.parse(server.at) / 1000 - startS))} s`;
    });
    return judgeEach(
      readings,
      (text) => {
        const [changes = 0, seconds = 0] = text.split(' in ').map(parseFloat);
        // Of less than an hour nothing is made an hour's rate: an election at the start is none.
        const perHour = changes / Math.max(1, seconds / 3600);
        return perHour > mostChangesPerHour
          ? `${changes} in the ${formatDuration(seconds * 1000)} since its start`
          : undefined;
      },
      wanted,
    );
  },
};

export const supportedVersions: EtcdCheck = {
  id: 'E14',
  title: 'supported version',
  severity: 'med',
  reads: ['endpoint status of every member'],
  why: 'lines before 3.5 get no fixes upstream, of lease and lock bugs among them; mixed members hide new abilities',
  fix: 'upgrade all members to 3.5 or later (or allow it knowingly, where a distribution carries fixes over)',
  judge: ({ server }) => {
    const versions = statuses(server, ({ version }) => version).map((one) =>
      inForm(one, /^\d+\.\d+/),
    );
    return judgeTogether(versions, everyMember(server), {
      fault: (told) => {
        const distinct = [...new Set(told)];
        const sound = distinct.length <= 1 && !distinct.some(ended);
        return sound ? undefined : distinct.join(' and ');
      },
      sound: ([version = '']) => version,
      wanted: 'one version, 3.5 or later',
    });
  },
};

function ended(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < 3 || (major === 3 && minor < 5);
}

export const leaseLists: EtcdCheck = {
  id: 'E10',
  title: 'leases on each member',
  severity: 'med',
  reads: ['lease list of every member, twice within a second'],
  why: 'a lease that only some members know is a ghost: revoking or renewing it fails on the others',
  fix: 'upgrade: 3.5.0 to 3.5.2 and some older lines lose leases on restart; then restart the odd member',
  judge: ({ server }) => {
    if (server.peers.kind !== 'unknown' && server.peers.value.length === 1) {
      return notApplicable('there is one member');
    }
    const looks = server.members.flatMap(({ leases }) =>
      leases.kind === 'unknown' ? [] : [leases.value],
    );
    const odd = ghosts(looks);
    const readings = server.members.map(({ member, leases }) =>
      reading(`lease list of ${member}`, leases, ([list = []]) => `${list.length} leases`),
    );
    return judgeTogether(readings, everyMember(server), {
      fault: () =>
        odd.length === 0
          ? undefined
          : `${odd.length} not on every member, ${odd[0] ?? ''} among them`,
      sound: ([first = '']) => first,
      wanted: 'the same leases on every member',
    });
  },
};

/** Ids that some member had in both looks and some other in neither: leases come and go meanwhile. */
function ghosts(members: readonly (readonly (readonly string[])[])[]): readonly string[] {
  const lasting = members.map((looks) => looks.map((look) => new Set(look)));
  const all = new Set(members.flat(2));
  return [...all].filter(
    (id) =>
      lasting.some((looks) => looks.every((look) => look.has(id))) &&
      lasting.some((looks) => looks.every((look) => !look.has(id))),
  );
}
