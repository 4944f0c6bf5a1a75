/** Asks the server programs for their version: the proof that they run here. */
import { readdirSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import type { Environment } from '../folders.ts';
import {
  findEtcd,
  findJava,
  findRedis,
  findZooKeeperJars,
  type Program,
  type Tree,
} from '../programs.ts';
import { runProgram } from './run-program.ts';

export interface FoundServer {
  readonly name: Tree;
  readonly version: string;
  /** The program, or ZooKeeper's jar. */
  readonly file: string;
  readonly from: string;
}

/**
 * What would be started for this name; undefined when there is nothing.
 * @throws {TargetError} `program-failed` when there is something that does not run
 */
export async function findServer(env: Environment, name: Tree): Promise<FoundServer | undefined> {
  if (name === 'zookeeper') return findZooKeeper(env);
  const [program, args] = {
    redis: [findRedis(env), ['--version']] as const,
    etcd: [findEtcd(env), ['--version']] as const,
    java: [findJava(env), ['-XX:-UsePerfData', '-version']] as const,
  }[name];
  if (program === undefined) return undefined;
  const version = await askVersion(program, args);
  return { name, version, file: program.file, from: program.from };
}

async function askVersion(program: Program, args: readonly string[]): Promise<string> {
  const output = await runProgram(program.file, args, { env: program.env });
  return /(?:v=|Version: |version ")([^\s"]+)/.exec(output)?.[1] ?? 'unknown version';
}

/** Jars are not run for it: their version is in the name of the file, or of a link beside it. */
function findZooKeeper(env: Environment): FoundServer | undefined {
  const found = findZooKeeperJars(env);
  if (found === undefined) return undefined;
  const [first = ''] = found.classPath.split(delimiter);
  const folder = dirname(first);
  const jar = readdirSync(folder).find((name) => versionedJar.test(name));
  const version = versionedJar.exec(jar ?? '')?.[1] ?? 'unknown version';
  const file = basename(first) === '*' && jar !== undefined ? join(folder, jar) : first;
  return { name: 'zookeeper', version, file, from: found.from };
}

const versionedJar = /^zookeeper-(\d.*)\.jar$/;
