/** What the members of an etcd cluster said, as readings. */
import type { EtcdFacts, EtcdMemberFacts, EtcdStatus } from '../../domain/etcd-facts.ts';
import { known, mapKnown, unknown, type Known } from '../../domain/known.ts';
import type { Reading } from '../readings.ts';

/** One reading a member: a part of its status. */
export function statuses(
  { members }: EtcdFacts,
  words: (status: EtcdStatus) => string,
): readonly Reading[] {
  return members.map(({ member, status }) => ({
    command: `endpoint status of ${member}`,
    answer: mapKnown(status, words),
  }));
}

/** One reading a member, made of its metrics; undefined where they do not say. */
export function metrics(
  { members }: EtcdFacts,
  name: string,
  words: (metrics: ReadonlyMap<string, number>, member: EtcdMemberFacts) => string | undefined,
): readonly Reading[] {
  return members.map((one) => ({
    command: `/metrics ${name} of ${one.member}`,
    answer: told(one.metrics, name, (values) => words(values, one)),
  }));
}

function told(
  values: EtcdMemberFacts['metrics'],
  name: string,
  words: (metrics: ReadonlyMap<string, number>) => string | undefined,
): Known<string> {
  if (values.kind === 'unknown') return values;
  const text = words(values.value);
  return text === undefined ? unknown(`/metrics has no ${name}`) : known(text);
}

/** Unknown while the cluster has members that the target does not name: nobody asked them. */
export function everyMember({ peers, members }: EtcdFacts): readonly Reading[] {
  const command = 'member list';
  if (peers.kind === 'unknown') return [{ command, answer: peers }];
  const [all, asked] = [peers.value.length, members.length];
  if (asked >= all) return [];
  const answer = unknown(
    `the target names ${asked} of ${all} members`,
    'name them all: --target etcd://HOST1:2379,HOST2:2379,HOST3:2379',
  );
  return [{ command, answer }];
}
