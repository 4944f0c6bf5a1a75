/** A Java client: its source compiled against Curator's jars, or one sentence on how to get them. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter } from 'node:path';
import { findOnPath } from '../../../src/lab/programs.ts';
import { clientFile, type ClientCommand } from './client-program.ts';

/** Where Debian's libcurator-recipes-java puts itself and what it needs. */
const jars = [
  'curator-recipes',
  'curator-framework',
  'curator-client',
  'zookeeper',
  'zookeeper-jute',
  'guava',
  'slf4j-api',
  'slf4j-nop',
].map((jar) => `/usr/share/java/${jar}.jar`);

/** Small and quick to start: three of them run beside the servers. */
const jvm = ['-Xmx64m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-XX:-UsePerfData'];

/**
 * Compiles `<program>.java` into the folder, and gives the way of running it.
 * @throws {Error} when the compiler or the library is missing, or refuses the source
 */
export function compileCuratorClient(
  program: string,
  folder: string,
): (...args: readonly string[]) => ClientCommand {
  const classPath =
    process.env.CURATOR_CLASSPATH ?? (jars.every(existsSync) && jars.join(delimiter));
  const compiler = findOnPath(process.env, 'javac');
  if (classPath === false || compiler === undefined) {
    throw new Error(
      `${compiler === undefined ? 'javac' : 'Curator'} is missing: run apt-get install libcurator-recipes-java default-jdk-headless, or elsewhere put the jars of curator-recipes 5 into CURATOR_CLASSPATH`,
    );
  }
  const compiled = spawnSync(
    compiler,
    ['-cp', classPath, '-d', folder, clientFile(`${program}.java`)],
    { encoding: 'utf8' },
  );
  if (compiled.status !== 0) throw new Error(`${compiler} failed: ${compiled.stderr}`);
  const java = compiler.replace(/javac$/, 'java');
  const path = [folder, classPath].join(delimiter);
  return (...args) => ({ file: java, args: [...jvm, '-cp', path, program, ...args] });
}
