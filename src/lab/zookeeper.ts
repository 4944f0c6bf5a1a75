/** One or three ZooKeeper servers with AdminServer: their zoo.cfg and when they are ready. */
import { join } from 'node:path';
import type { LabPlan, LabSite, ServerPlan } from './plan.ts';
import { findJava, findZooKeeperJars, requireProgram, type ZooKeeperProgram } from './programs.ts';
import { askZooKeeper } from './wire.ts';

interface Member {
  readonly number: number;
  readonly port: number;
  readonly adminPort: number;
  readonly peerPort: number;
  readonly electionPort: number;
}

export async function planZooKeeper(site: LabSite): Promise<LabPlan> {
  const found = requireProgram(findZooKeeperJars(site.env), 'ZooKeeper', 'zookeeper');
  const java = requireProgram(findJava(site.env), 'Java, which ZooKeeper needs,', 'zookeeper');
  const members: Member[] = [];
  for (let number = 1; number <= site.spec.members; number += 1) {
    members.push({
      number,
      port: await site.port(),
      adminPort: await site.port(),
      peerPort: await site.port(),
      electionPort: await site.port(),
    });
  }
  return {
    target: targetOf(members),
    servers: members.map((member) => planMember(site, { ...found, java }, members, member)),
  };
}

/** With the AdminServer's ports, without which nobody tells clients and watches. */
function targetOf(members: readonly Member[]): string {
  const hosts = members.map(({ port }) => `127.0.0.1:${port}`);
  return `zk://${hosts.join(',')}?admin=${members.map(({ adminPort }) => adminPort).join(',')}`;
}

function planMember(
  site: LabSite,
  { java, classPath }: ZooKeeperProgram,
  members: readonly Member[],
  member: Member,
): ServerPlan {
  const name = `zookeeper-${member.number}`;
  const home = join(site.folder, name);
  const dataDir = join(home, 'data');
  const configFile = join(home, 'zoo.cfg');
  return {
    name,
    port: member.port,
    otherPorts: {
      admin: member.adminPort,
      peer: member.peerPort,
      election: member.electionPort,
    },
    dataDir,
    logFile: join(home, 'log'),
    file: java.file,
    args: [...javaFlags(home), '-cp', classPath, mainClass, configFile],
    env: java.env,
    files: {
      [configFile]: configuration(site, members, member, dataDir),
      ...(members.length > 1 ? { [join(dataDir, 'myid')]: `${member.number}\n` } : {}),
    },
    // `ruok` says imok before a server serves; srvr is on the whitelist that every server has.
    isReady: async () => (await askZooKeeper(member.port, 'srvr')).includes('\nMode: '),
  };
}

const mainClass = 'org.apache.zookeeper.server.quorum.QuorumPeerMain';

/** Small and quick to start; measured at 56 MB and 0.9 s. */
function javaFlags(home: string): readonly string[] {
  return [
    ...['-Xmx128m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-XX:-UsePerfData'],
    ...['-Dzookeeper.extendedTypesEnabled=true', '-Dzookeeper.preAllocSize=1024'],
    `-Djava.io.tmpdir=${home}`,
  ];
}

function configuration(
  site: LabSite,
  members: readonly Member[],
  member: Member,
  dataDir: string,
): string {
  const { '4lw': fourLetterWords = 'on', ...options } = site.spec.options;
  const settings: Record<string, string> = {
    tickTime: '500',
    // Ticks. Generous: a busy machine with two cores starts three Javas at once.
    initLimit: '40',
    syncLimit: '20',
    forceSync: 'no',
    maxClientCnxns: '0',
    'admin.enableServer': 'true',
    ...(fourLetterWords === 'off' ? {} : { '4lw.commands.whitelist': '*' }),
    ...options,
    dataDir,
    clientPort: String(member.port),
    clientPortAddress: '127.0.0.1',
    'admin.serverAddress': '127.0.0.1',
    'admin.serverPort': String(member.adminPort),
  };
  if (members.length > 1) {
    for (const { number, peerPort, electionPort } of members) {
      settings[`server.${number}`] = `127.0.0.1:${peerPort}:${electionPort}`;
    }
  }
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}
