/** Finds the server programs: on PATH first, then among those that `fencepost lab install` unpacked. */
import {
  accessSync,
  constants,
  existsSync,
  readFileSync,
  readdirSync,
  realpathSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { TargetError } from '../domain/errors.ts';
import { cacheFolder, type Environment } from './folders.ts';
import type { LabSystem } from './lab.ts';

/** A program to spawn, and what its environment must hold beside the usual. */
export interface Program {
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
  /** `PATH`, `JAVA_HOME`, `ZOOKEEPER_HOME`, or `installed` when unpacked by us. */
  readonly from: string;
}

export interface ZooKeeperProgram {
  readonly java: Program;
  readonly classPath: string;
  readonly from: string;
}

/** Packages that are unpacked together, each into its own tree. */
export type Tree = LabSystem | 'java';

/**
 * Root of an unpacked tree. It names the distribution, since a home folder may be shared by
 * machines that need different builds.
 */
export function treeFolder(env: Environment, tree: Tree): string {
  return join(cacheFolder(env), 'servers', platformName(), tree);
}

function platformName(): string {
  const release = readOsRelease();
  const system = release['ID'] ?? process.platform;
  return `${system}-${release['VERSION_ID'] ?? 'rolling'}-${process.arch}`;
}

/** Fields of /etc/os-release; empty where there is none. */
export function readOsRelease(): Readonly<Record<string, string>> {
  const file = '/etc/os-release';
  if (!existsSync(file)) return {};
  const lines = readFileSync(file, 'utf8').matchAll(/^([A-Z_]+)="?([^"\n]*)"?$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name ?? '', value ?? '']));
}

export function findRedis(env: Environment): Program | undefined {
  return findProgram(env, 'redis', 'redis-server');
}

export function findEtcd(env: Environment): Program | undefined {
  return findProgram(env, 'etcd', 'etcd');
}

/** Java from JAVA_HOME, from PATH, or unpacked. */
export function findJava(env: Environment): Program | undefined {
  const home = env['JAVA_HOME'];
  if (home !== undefined && isExecutable(join(home, 'bin', 'java'))) {
    return { file: join(home, 'bin', 'java'), env: {}, from: 'JAVA_HOME' };
  }
  const onPath = process.platform === 'darwin' ? findJavaOfHomebrew(env) : findOnPath(env, 'java');
  if (onPath !== undefined) return { file: onPath, env: {}, from: 'PATH' };
  const tree = treeFolder(env, 'java');
  const file = firstChild(join(tree, 'usr/lib/jvm'), (jvm) => {
    const java = join(jvm, 'bin/java');
    return isExecutable(java) ? java : undefined;
  });
  return file === undefined ? undefined : { file, env: libraryPath(tree), from: 'installed' };
}

/**
 * macOS has a `java` on PATH that only tells where to buy one. Homebrew, which brings a real one
 * with ZooKeeper, leaves that off PATH.
 */
function findJavaOfHomebrew(env: Environment): string | undefined {
  const prefixes = [env['HOMEBREW_PREFIX'] ?? '/opt/homebrew', '/usr/local'];
  const files = prefixes.map((prefix) => join(prefix, 'opt/openjdk/bin/java'));
  const real = findOnPath(env, 'java');
  return files.find(isExecutable) ?? (real === '/usr/bin/java' ? undefined : real);
}

/** ZooKeeper's jars: an installation on PATH or ZOOKEEPER_HOME, system jars, or unpacked ones. */
export function findZooKeeperJars(
  env: Environment,
): { readonly classPath: string; readonly from: string } | undefined {
  const home = env['ZOOKEEPER_HOME'];
  if (home !== undefined && hasServerJar(join(home, 'lib'))) {
    return { classPath: join(home, 'lib', '*'), from: 'ZOOKEEPER_HOME' };
  }
  const script = findOnPath(env, 'zkServer.sh') ?? findOnPath(env, 'zkServer');
  if (script !== undefined) {
    const above = dirname(dirname(realpathSync(script)));
    const lib = [join(above, 'lib'), join(above, 'libexec', 'lib')].find(hasServerJar);
    if (lib !== undefined) return { classPath: join(lib, '*'), from: 'PATH' };
  }
  const system = '/usr/share/java';
  const unpacked = join(treeFolder(env, 'zookeeper'), 'usr/share/java');
  const inSystem = debianClassPath([system]);
  if (inSystem !== undefined) return { classPath: inSystem, from: system };
  const installed = debianClassPath([unpacked, system]);
  return installed === undefined ? undefined : { classPath: installed, from: 'installed' };
}

/** What runs a system; throws when it is not there. @throws {TargetError} `lab-server-missing` */
export function requireProgram<T>(found: T | undefined, what: string, install: string): T {
  if (found !== undefined) return found;
  throw new TargetError(`${what} is not installed`, {
    code: 'lab-server-missing',
    hint: `run: fencepost lab install ${install}`,
    definite: true,
  });
}

/** The unversioned jars that Debian and Ubuntu ship; the last two groups serve AdminServer and netty. */
const jars = {
  needed: [
    'zookeeper',
    'zookeeper-jute',
    'slf4j-api',
    'metrics-core',
    'commons-cli',
    'netty-common',
  ],
  wanted: [
    ...['slf4j-simple', 'snappy-java', 'commons-io', 'servlet-api'],
    ...['jackson-core', 'jackson-databind', 'jackson-annotations'],
    ...['server', 'servlet', 'http', 'io', 'util', 'util-ajax', 'security'].map(
      (part) => `jetty9-${part}`,
    ),
    ...['buffer', 'handler', 'transport', 'resolver', 'codec', 'transport-native-epoll'].map(
      (part) => `netty-${part}`,
    ),
    ...['netty-transport-native-unix-common', 'netty-transport-classes-epoll'],
  ],
};

function debianClassPath(folders: readonly string[]): string | undefined {
  const find = (jar: string): string | undefined =>
    folders.map((folder) => join(folder, `${jar}.jar`)).find((file) => existsSync(file));
  const needed = jars.needed.map(find);
  if (needed.includes(undefined)) return undefined;
  return [...needed, ...jars.wanted.map(find)].filter((file) => file !== undefined).join(delimiter);
}

function hasServerJar(lib: string): boolean {
  return existsSync(lib) && readdirSync(lib).some((name) => /^zookeeper-\d.*\.jar$/.test(name));
}

function findProgram(env: Environment, tree: Tree, name: string): Program | undefined {
  const onPath = findOnPath(env, name);
  if (onPath !== undefined) return { file: onPath, env: {}, from: 'PATH' };
  const root = treeFolder(env, tree);
  const file = join(root, 'usr/bin', name);
  return isExecutable(file) ? { file, env: libraryPath(root), from: 'installed' } : undefined;
}

/** Environment in which a program of an unpacked tree finds its libraries.
 *
 * Debian keeps libraries in a folder named by the machine's triplet. */
export function libraryPath(root: string): Record<string, string> {
  const folders = [join(root, 'usr/lib'), join(root, 'lib')].flatMap((lib) => [
    ...childrenOf(lib)
      .filter((name) => name.includes('-linux-'))
      .map((name) => join(lib, name)),
  ]);
  return folders.length === 0 ? {} : { LD_LIBRARY_PATH: folders.join(':') };
}

/** The first executable of that name on PATH. */
export function findOnPath(env: Environment, name: string): string | undefined {
  return (env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder.startsWith('/'))
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    // Not there, a dangling link, or not executable: all the same to a search.
    return false;
  }
}

function childrenOf(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

function firstChild<T>(folder: string, look: (path: string) => T | undefined): T | undefined {
  for (const name of childrenOf(folder)) {
    const found = look(join(folder, name));
    if (found !== undefined) return found;
  }
  return undefined;
}
