/** Checks by ldd that an unpacked program finds every library it is linked to. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { TargetError } from '../../domain/errors.ts';
import { libraryPath, type Tree } from '../programs.ts';
import { runProgram } from './run-program.ts';

/** @throws {TargetError} `library-missing` naming the libraries that neither tree nor system have */
export async function checkLibraries(root: string, tree: Tree): Promise<void> {
  for (const file of linkedFiles(root, tree)) {
    const output = await runProgram('ldd', [file], { env: libraryPath(root) });
    const missing = [...output.matchAll(/^\s*(\S+) => not found/gm)].map(([, name]) => name);
    if (missing.length === 0) continue;
    throw new TargetError(`${tree} needs ${missing.join(', ')}, found in no package`, {
      code: 'library-missing',
      hint: `install ${tree} by your package manager instead; it is then found on PATH`,
      definite: true,
    });
  }
}

function linkedFiles(root: string, tree: Tree): readonly string[] {
  switch (tree) {
    case 'redis':
      return [join(root, 'usr/bin/redis-server')];
    case 'etcd':
      // Linked statically on some releases; ldd then fails, and there is nothing to check.
      return [];
    case 'zookeeper':
      return [];
    case 'java':
      return javaFiles(join(root, 'usr/lib/jvm'));
  }
}

function javaFiles(jvms: string): readonly string[] {
  const names = ['bin/java', 'lib/server/libjvm.so', 'lib/libzip.so', 'lib/libnio.so'];
  return (existsSync(jvms) ? readdirSync(jvms) : [])
    .flatMap((jvm) => names.map((name) => join(jvms, jvm, name)))
    .filter((file) => existsSync(file));
}
