/**
 * `lab install`: makes sure that each server can be started, and says which one will be. What is on
 * PATH is used; on Debian and Ubuntu the rest is unpacked into the user's cache; elsewhere it says
 * what to install. Never touches the system.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { TargetError } from '../../domain/errors.ts';
import { cacheFolder, type Environment } from '../folders.ts';
import type { LabSystem } from '../lab.ts';
import { findOnPath, treeFolder, type Tree } from '../programs.ts';
import { openApt, type Apt, type PackageSet } from './apt.ts';
import { checkLibraries } from './check-libraries.ts';
import { withInstallLock } from './install-lock.ts';
import { findServer, type FoundServer } from './server-version.ts';

export interface InstallOptions {
  readonly env: Environment;
  readonly platform: NodeJS.Platform;
  /** One line of progress. */
  readonly report: (line: string) => void;
  readonly signal?: AbortSignal;
}

/**
 * Returns what will be started for these systems (and Java, when ZooKeeper is among them), after
 * unpacking what was missing. Quick when nothing is.
 * @throws {TargetError} when something is missing and cannot be had here; the hint says what to do
 */
export async function installServers(
  systems: readonly LabSystem[],
  options: InstallOptions,
): Promise<readonly FoundServer[]> {
  const names = withJava(systems);
  const missing = await findMissing(names, options);
  if (missing.length > 0) {
    refuseWithoutApt(missing, options);
    await withInstallLock(
      join(cacheFolder(options.env), 'install.lock'),
      options.report,
      async () => {
        // Asked again: another process may just have finished the same.
        await unpackAll(await findMissing(names, options), options);
      },
    );
  }
  const found = await Promise.all(names.map((name) => findServer(options.env, name)));
  return found.filter((server) => server !== undefined);
}

function withJava(systems: readonly LabSystem[]): readonly Tree[] {
  return systems.includes('zookeeper') ? [...systems, 'java'] : systems;
}

async function findMissing(
  names: readonly Tree[],
  { env }: InstallOptions,
): Promise<readonly Tree[]> {
  const missing: Tree[] = [];
  for (const name of names) {
    if ((await findWorking(env, name)) === undefined) missing.push(name);
  }
  return missing;
}

/** What we unpacked ourselves and does not run (any more) counts as missing; the user's is an error. */
async function findWorking(env: Environment, name: Tree): Promise<FoundServer | undefined> {
  try {
    return await findServer(env, name);
  } catch (error) {
    if (!existsSync(treeFolder(env, name))) throw error;
    rmSync(treeFolder(env, name), { recursive: true, force: true });
    return await findServer(env, name);
  }
}

function refuseWithoutApt(missing: readonly Tree[], { env, platform }: InstallOptions): void {
  if (platform === 'linux' && findOnPath(env, 'apt-get') && findOnPath(env, 'dpkg')) return;
  const what = missing.join(', ');
  throw new TargetError(`not found: ${what}`, {
    code: 'lab-server-missing',
    hint:
      platform === 'darwin'
        ? `run: brew install ${missing.map((name) => (name === 'java' ? 'openjdk' : name)).join(' ')}`
        : `install ${what} with your package manager, so that ${missing.map((name) => programNames[name]).join(', ')} can be found`,
    definite: true,
  });
}

const programNames: Readonly<Record<Tree, string>> = {
  redis: 'redis-server on PATH',
  etcd: 'etcd on PATH',
  zookeeper: 'zkServer.sh on PATH (or ZOOKEEPER_HOME)',
  java: 'java on PATH (or JAVA_HOME)',
};

const packages: Readonly<Record<Tree, PackageSet>> = {
  // The program itself is in redis-tools; redis-server holds a link to it.
  redis: { needed: ['redis-server', 'redis-tools'], wanted: [], dependencies: true },
  etcd: { needed: ['etcd-server'], wanted: ['etcd-client'], dependencies: true },
  // Jars are named one by one on the class path: what they depend on further is never loaded.
  zookeeper: {
    needed: [
      ...['libzookeeper-java', 'libslf4j-java', 'libnetty-java', 'libdropwizard-metrics-java'],
      'libcommons-cli-java',
    ],
    wanted: [
      ...['libsnappy-java', 'libsnappy-jni', 'libcommons-io-java', 'libservlet-api-java'],
      ...['libjetty9-java', 'libjetty9-extra-java', 'libjackson2-core-java'],
      ...['libjackson2-databind-java', 'libjackson2-annotations-java', 'liblogback-java'],
    ],
    dependencies: false,
  },
  java: { needed: ['default-jre-headless'], wanted: [], dependencies: true },
};

async function unpackAll(missing: readonly Tree[], options: InstallOptions): Promise<void> {
  if (missing.length === 0) return;
  const cache = cacheFolder(options.env);
  const scratch = join(cache, 'apt');
  try {
    const apt = openApt(scratch, options.signal);
    options.report('reading package lists');
    await apt.update();
    for (const name of missing) {
      options.report(`unpacking ${name} into ${cache}`);
      await unpackTree(name, apt, options);
    }
  } finally {
    // The lists alone are 150 MB and soon out of date.
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Unpacks beside the final place and renames when complete: a tree is there whole or not at all. */
async function unpackTree(name: Tree, apt: Apt, { env }: InstallOptions): Promise<void> {
  const place = treeFolder(env, name);
  mkdirSync(dirname(place), { recursive: true });
  removeOldDrafts(dirname(place));
  const draft = mkdtempSync(join(dirname(place), draftPrefix));
  try {
    await apt.unpack(packages[name], draft);
    await checkLibraries(draft, name);
    rmSync(place, { recursive: true, force: true });
    renameSync(draft, place);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

const draftPrefix = '.draft-';
const oldMs = 3_600_000;

/** What a killed installation left. Young ones may be at work. */
function removeOldDrafts(folder: string): void {
  for (const name of readdirSync(folder).filter((each) => each.startsWith(draftPrefix))) {
    const draft = join(folder, name);
    const age = Date.now() - statSync(draft).mtimeMs;
    if (age > oldMs) rmSync(draft, { recursive: true, force: true });
  }
}
