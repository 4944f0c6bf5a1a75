/** Checks by ldd that an unpacked program finds every library it is linked to. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { TargetError } from '../../domain/errors.ts';
import { libraryPath, type Tree } from '../programs.ts';
import { runProgram } from './run-program.ts';

/** @throws {TargetError} `library-missing` naming the libraries that neither tree nor system have */
export async function checkLibraries(root: string, tree: Tree): Promise<void> {
  const { files, ownLibraries } = linkedFiles(root, tree);
  const { LD_LIBRARY_PATH: path = '' } = libraryPath(root);
  const env = { LD_LIBRARY_PATH: [path, ...ownLibraries].join(':') };
  for (const file of files) {
    const output = await runProgram('ldd', [file], { env });
    const missing = [...output.matchAll(/^\s*(\S+) => not found/gm)].map(([, name]) => name);
    if (missing.length === 0) continue;
    throw new TargetError(`${tree} needs ${missing.join(', ')}, found in no package`, {
      code: 'library-missing',
      hint: `install ${tree} by your package manager instead; it is then found on PATH`,
      definite: true,
    });
  }
}

interface LinkedFiles {
  readonly files: readonly string[];
  /** Folders of libraries that the program loads by itself before these files need them. */
  readonly ownLibraries: readonly string[];
}

function linkedFiles(root: string, tree: Tree): LinkedFiles {
  switch (tree) {
    case 'redis':
      return { files: [join(root, 'usr/bin/redis-server')], ownLibraries: [] };
    // etcd is linked statically on some releases, where ldd fails; ZooKeeper is jars.
    case 'etcd':
    case 'zookeeper':
      return { files: [], ownLibraries: [] };
    case 'java':
      return javaFiles(join(root, 'usr/lib/jvm'));
  }
}

function javaFiles(folder: string): LinkedFiles {
  const jvms = (existsSync(folder) ? readdirSync(folder) : []).map((name) => join(folder, name));
  const under = (...names: readonly string[]): readonly string[] =>
    jvms.flatMap((jvm) => names.map((name) => join(jvm, name))).filter((path) => existsSync(path));
  return {
    files: under('bin/java', 'lib/server/libjvm.so', 'lib/libzip.so', 'lib/libnio.so'),
    ownLibraries: under('lib', 'lib/server'),
  };
}
