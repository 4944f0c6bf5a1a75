/** One or three etcd members: their flags, when they are ready, and how an emptied one comes back. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { TargetError } from '../domain/errors.ts';
import { stringToText } from '../domain/text.ts';
import type { LabPlan, LabSite, ServerPlan } from './plan.ts';
import { findEtcd, requireProgram, type Program } from './programs.ts';
import { postJson, type ClientCertificate } from './wire.ts';

interface Member {
  readonly name: string;
  readonly port: number;
  readonly peerPort: number;
}

export async function planEtcd(site: LabSite): Promise<LabPlan> {
  const program = requireProgram(findEtcd(site.env), 'etcd', 'etcd');
  const members: Member[] = [];
  for (let number = 1; number <= site.spec.members; number += 1) {
    members.push({
      name: `etcd-${number}`,
      port: await site.port(),
      peerPort: await site.port(),
    });
  }
  const scheme = site.spec.options['cert-file'] === undefined ? 'etcd' : 'etcds';
  return {
    target: `${scheme}://${members.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    servers: members.map((member) => planMember(site, program, members, member)),
  };
}

function planMember(
  site: LabSite,
  program: Program,
  members: readonly Member[],
  member: Member,
): ServerPlan {
  const home = join(site.folder, member.name);
  const dataDir = join(home, 'data');
  const tls = clientCertificate(site.spec.options);
  const client = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${member.port}`;
  const flags = (state: 'new' | 'existing'): readonly string[] =>
    Object.entries({
      logger: 'zap',
      'log-outputs': 'stderr',
      // Lets an emptied member be replaced at once; the check wants five quiet seconds before.
      'strict-reconfig-check': 'false',
      ...site.spec.options,
      name: member.name,
      'data-dir': dataDir,
      'listen-client-urls': client,
      'advertise-client-urls': client,
      'listen-peer-urls': peerUrl(member),
      'initial-advertise-peer-urls': peerUrl(member),
      'initial-cluster': members.map((each) => `${each.name}=${peerUrl(each)}`).join(','),
      'initial-cluster-token': site.id,
      'initial-cluster-state': state,
    }).map(([name, value]) => `--${name}=${value}`);
  return {
    name: member.name,
    port: member.port,
    otherPorts: { peer: member.peerPort },
    dataDir,
    logFile: join(home, 'log'),
    file: program.file,
    args: flags('new'),
    // etcd 3.4 starts on 64-bit ARM only when told that this is meant.
    env:
      process.arch === 'arm64' ? { ...program.env, ETCD_UNSUPPORTED_ARCH: 'arm64' } : program.env,
    files: {},
    isReady: () => isReady(member.port, tls),
    rejoinEmpty: async (livingPorts) => {
      if (members.length === 1) return flags('new');
      await replaceMember(member, livingPorts, tls);
      return flags('existing');
    },
  };
}

function peerUrl(member: Member): string {
  return `http://127.0.0.1:${member.peerPort}`;
}

/** Over TLS the readiness question is asked with the server's own certificate as the client's. */
function clientCertificate(
  options: Readonly<Record<string, string>>,
): ClientCertificate | undefined {
  const [certFile, keyFile] = [options['cert-file'], options['key-file']];
  return certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile };
}

/** A linearizable read: it needs a leader and a quorum. A refusal for want of a user is an answer too. */
async function isReady(port: number, tls: ClientCertificate | undefined): Promise<boolean> {
  const key = Buffer.from('fencepost-lab-ready').toString('base64');
  const { status, body } = await postJson(port, '/v3/kv/range', { key }, tls);
  return status === 200 || /user name is empty|permission denied/.test(body);
}

/**
 * A member that lost its data may not come back under its old id: it would break the promises that
 * it gave as that member. So the others forget it and take it in anew. Asked again until a deadline:
 * the one that was killed may have been the leader, and until there is a new one nothing is decided.
 */
async function replaceMember(
  member: Member,
  livingPorts: readonly number[],
  tls: ClientCertificate | undefined,
): Promise<void> {
  const deadline = Date.now() + rejoinDeadlineMs;
  for (;;) {
    const problem = await tryReplace(peerUrl(member), livingPorts, tls).catch(String);
    if (problem === undefined) return;
    if (Date.now() > deadline) {
      throw new TargetError(`${member.name} cannot rejoin its cluster empty`, {
        code: 'lab-rejoin-failed',
        hint: `a majority of the members must run; etcd says: ${stringToText(problem).slice(0, 200)}`,
        definite: true,
      });
    }
    await delay(100);
  }
}

const rejoinDeadlineMs = 20_000;

/** One try, right from wherever an earlier one got to; returns what went wrong. */
async function tryReplace(
  peer: string,
  livingPorts: readonly number[],
  tls: ClientCertificate | undefined,
): Promise<string | undefined> {
  const [port] = livingPorts;
  if (port === undefined) return 'no other member runs';
  const list = await postJson(port, '/v3/cluster/member/list', {}, tls);
  const present = findMember(list.body, peer);
  if (present?.isNew === true) return undefined;
  if (present !== undefined) {
    const removed = await postJson(port, '/v3/cluster/member/remove', { ID: present.id }, tls);
    if (removed.status !== 200) return removed.body;
  }
  const added = await postJson(port, '/v3/cluster/member/add', { peerURLs: [peer] }, tls);
  return added.status === 200 ? undefined : added.body;
}

/** A member gets its name when it first starts. Ids are 64-bit numbers; the gateway quotes them. */
function findMember(
  list: string,
  peer: string,
): { readonly id: string; readonly isNew: boolean } | undefined {
  for (const [text] of list.matchAll(/\{[^{}]*"peerURLs":[^{}]*\}/g)) {
    const id = /"ID":"(\d+)"/.exec(text)?.[1];
    if (id !== undefined && text.includes(`"${peer}"`))
      return { id, isNew: !/"name":"./.test(text) };
  }
  return undefined;
}
