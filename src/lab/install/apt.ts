/**
 * Debian and Ubuntu: fetches packages and unpacks them into the user's cache. Works as an ordinary
 * user, installs nothing on the system and starts nothing: own package lists, own download cache.
 */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { TargetError } from '../../domain/errors.ts';
import { runProgram } from './run-program.ts';

/** What to unpack for one tree. */
export interface PackageSet {
  /** Always unpacked, also where the system has the package: a package may hold half a server. */
  readonly needed: readonly string[];
  /** Unpacked where this release has them. */
  readonly wanted: readonly string[];
  /** Whether what these depend on, and the system lacks, is unpacked too. */
  readonly dependencies: boolean;
}

export interface Apt {
  /** Refreshes the package lists; once per object. */
  update(): Promise<void>;
  /** Downloads and unpacks a set into an empty folder. */
  unpack(set: PackageSet, root: string): Promise<void>;
}

/** An apt that keeps everything in `folder`. */
export function openApt(folder: string, signal: AbortSignal | undefined): Apt {
  const lists = join(folder, 'lists');
  const cache = join(folder, 'cache');
  const options = [
    ...['-o', `Dir::State::lists=${lists}`, '-o', `Dir::Cache=${cache}`],
    // Without it a root apt drops to the user _apt, who may not write here.
    ...['-o', 'APT::Sandbox::User=', '-o', 'Debug::NoLocking=1', '-o', 'Acquire::Retries=2'],
  ];
  const run = (program: string, args: readonly string[], cwd?: string): Promise<string> =>
    runProgram(program, [...options, ...args], { signal, ...(cwd === undefined ? {} : { cwd }) });

  let updateProblem: TargetError | undefined;
  return {
    async update() {
      mkdirSync(join(lists, 'partial'), { recursive: true });
      mkdirSync(join(cache, 'archives', 'partial'), { recursive: true });
      try {
        await run('apt-get', ['update', '--error-on=any']);
      } catch (error) {
        if (!(error instanceof TargetError)) throw error;
        // Old apt has no --error-on, and one dead third-party source must not stop us: the error
        // is told only if a package turns out to be missing.
        updateProblem = error;
        await run('apt-get', ['update']);
      }
    },
    async unpack(set, root) {
      const { needed, wanted } = await existing(set, run, updateProblem);
      const packages = new Map([...needed, ...wanted].map((name) => [name, name]));
      if (set.dependencies) {
        for (const [name, version] of await missingDependencies(needed, run)) {
          packages.set(name, `${name}=${version}`);
        }
      }
      const debs = join(folder, 'debs');
      rmSync(debs, { recursive: true, force: true });
      mkdirSync(debs, { recursive: true });
      mkdirSync(root, { recursive: true });
      await run('apt-get', ['download', ...packages.values()], debs);
      for (const deb of readdirSync(debs).filter((name) => name.endsWith('.deb'))) {
        await runProgram('dpkg', ['-x', join(debs, deb), root], { signal });
      }
      rmSync(debs, { recursive: true, force: true });
      keepLinksInside(root);
    },
  };
}

type Run = (program: string, args: readonly string[]) => Promise<string>;

/** Which packages this release has. @throws {TargetError} when it lacks a needed one */
async function existing(
  set: PackageSet,
  run: Run,
  updateProblem: TargetError | undefined,
): Promise<{ readonly needed: readonly string[]; readonly wanted: readonly string[] }> {
  const policy = await run('apt-cache', ['policy', ...set.needed, ...set.wanted]);
  const there = new Set(
    [...policy.matchAll(/^([^\s:]+):\n {2}Installed: .*\n {2}Candidate: (?!\(none\))/gm)].map(
      ([, name]) => name,
    ),
  );
  const lacking = set.needed.filter((name) => !there.has(name));
  if (lacking.length > 0) {
    if (updateProblem !== undefined) throw updateProblem;
    throw new TargetError(`this system's package sources have no ${lacking.join(', ')}`, {
      code: 'package-missing',
      hint: 'add a source that has it (Ubuntu: universe), or put the server on PATH yourself',
      definite: true,
    });
  }
  return { needed: set.needed, wanted: set.wanted.filter((name) => there.has(name)) };
}

/**
 * The dependency closure less what is installed, as apt itself would resolve it: `Inst NAME [OLD]
 * (VERSION …` lines of a simulated installation.
 */
async function missingDependencies(
  packages: readonly string[],
  run: Run,
): Promise<readonly (readonly [name: string, version: string])[]> {
  const plan = await run('apt-get', [
    ...['--simulate', '--yes', '--no-install-recommends', 'install'],
    ...packages,
  ]);
  return [...plan.matchAll(/^Inst (\S+) (?:\[[^\]]*\] )?\((\S+) /gm)].map(([, name, version]) => [
    name ?? '',
    version ?? '',
  ]);
}

/**
 * Links to absolute paths (Java's into /etc) would leave the unpacked tree: those whose aim is in
 * the tree become relative, so that the tree can be moved.
 */
function keepLinksInside(root: string): void {
  for (const entry of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    const link = join(root, entry);
    if (!lstatSync(link).isSymbolicLink()) continue;
    const aim = readlinkSync(link);
    const inside = join(root, aim);
    if (!aim.startsWith('/') || !existsSync(inside)) continue;
    rmSync(link);
    symlinkSync(relative(dirname(link), inside), link);
  }
}
