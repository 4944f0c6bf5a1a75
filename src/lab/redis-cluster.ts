/** A Redis Cluster of three primaries with a replica each, made of six servers by commands. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { TargetError } from '../domain/errors.ts';
import { stringToText } from '../domain/text.ts';
import type { LabPlan, LabSite, ServerPlan } from './plan.ts';
import { ask, dataDirectives, isLockedOut, labUrl, planRedisServer } from './redis-server.ts';

const primaries = 3;
const slots = 16_384;
/** Fixed by the server: the bus listens this much above the port. */
const busOffset = 10_000;
const joinDeadlineMs = 20_000;

export async function planRedisCluster(site: LabSite): Promise<LabPlan> {
  const servers: ServerPlan[] = [];
  for (let number = 1; number <= site.spec.members; number += 1) {
    const name = `node-${number}`;
    const port = await site.port();
    servers.push(
      planRedisServer(site, {
        name,
        port,
        otherPorts: { bus: port + busOffset },
        directives: [
          ...dataDirectives(site),
          ['cluster-enabled', 'yes'],
          // Outside the data directory: a node that lost its data still knows who it is.
          ['cluster-config-file', join(site.folder, name, 'nodes.conf')],
          ['cluster-node-timeout', '1500'],
          ...(site.tls === undefined ? [] : [['tls-cluster', 'yes'] as const]),
        ],
      }),
    );
  }
  const ports = servers.map(({ port }) => port);
  return {
    target: labUrl(site, ['redis+cluster', 'rediss+cluster'], ports.slice(0, primaries)),
    servers,
    join: () => joinNodes(site, ports),
    isTogether: () => isTogether(site, ports),
  };
}

async function joinNodes(site: LabSite, ports: readonly number[]): Promise<void> {
  const [first = 0] = ports;
  for (const [index, port] of ports.entries()) {
    const commands = [['CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1)]];
    if (index < primaries) commands.push(['CLUSTER', 'ADDSLOTS', ...slotsOf(index)]);
    if (index > 0) commands.push(['CLUSTER', 'MEET', '127.0.0.1', String(first)]);
    const answer = await ask(site, port, commands);
    if (isLockedOut(answer)) return;
    if (answer.includes('\r\n-') || answer.startsWith('-')) throw notJoined(answer);
  }
  const ids = await Promise.all(ports.map((port) => idOf(site, port)));
  for (const [index, port] of ports.entries()) {
    const primary = ids[index - primaries];
    if (primary !== undefined) await replicate(site, port, primary);
  }
}

/** Equal shares, in order. */
function slotsOf(primary: number): readonly string[] {
  const from = Math.round((slots * primary) / primaries);
  const to = Math.round((slots * (primary + 1)) / primaries);
  return Array.from({ length: to - from }, (_, index) => String(from + index));
}

async function idOf(site: LabSite, port: number): Promise<string> {
  const answer = await ask(site, port, [['CLUSTER', 'MYID']]);
  return /\b[0-9a-f]{40}\b/.exec(answer)?.[0] ?? '';
}

/** Asked again until the gossip has brought the primary's id. */
async function replicate(site: LabSite, port: number, primary: string): Promise<void> {
  const deadline = Date.now() + joinDeadlineMs;
  for (;;) {
    const answer = await ask(site, port, [['CLUSTER', 'REPLICATE', primary]]);
    // The first OK may be that of AUTH, the last is that of QUIT.
    if (!/^-/m.test(answer)) return;
    if (Date.now() > deadline) throw notJoined(answer);
    await delay(25);
  }
}

async function isTogether(site: LabSite, ports: readonly number[]): Promise<boolean> {
  const answers = await Promise.all(
    ports.map((port) =>
      ask(site, port, [
        ['CLUSTER', 'INFO'],
        ['INFO', 'replication'],
      ]),
    ),
  );
  return answers.every(
    (answer, index) =>
      isLockedOut(answer) ||
      (answer.includes('cluster_state:ok') &&
        answer.includes(`cluster_known_nodes:${ports.length}`) &&
        (index < primaries
          ? answer.includes('state=online')
          : answer.includes('master_link_status:up'))),
  );
}

function notJoined(answer: string): TargetError {
  return new TargetError('the servers refuse to become one cluster', {
    code: 'lab-not-ready',
    hint: `Redis says: ${stringToText(answer).slice(0, 200)}`,
    definite: true,
  });
}
