/** Python clients: the interpreter that has the library, or one sentence on how to get it. */
import { spawnSync } from 'node:child_process';
import { clientFile, type ClientCommand } from './client-program.ts';

/** Debian's packages are for Debian's own interpreter, which need not be the first on PATH. */
const interpreters = ['/usr/bin/python3', 'python3'];

export interface PythonLibrary {
  readonly module: string;
  readonly debian: string;
  readonly pypi: string;
}

/** @throws {Error} when no interpreter here can import `library` */
export function pythonClient(
  library: PythonLibrary,
  file: string,
  args: readonly string[],
): ClientCommand {
  return { file: pythonWith(library), args: [clientFile(file), ...args] };
}

/** The interpreter. @throws {Error} when none here can import `library` */
export function pythonWith({ module, debian, pypi }: PythonLibrary): string {
  const python = interpreters.find(
    (one) => spawnSync(one, ['-c', `import ${module}`]).status === 0,
  );
  if (python === undefined) {
    throw new Error(
      `python3 cannot import ${module}: run apt-get install ${debian}, or elsewhere pip install ${pypi}`,
    );
  }
  return python;
}
