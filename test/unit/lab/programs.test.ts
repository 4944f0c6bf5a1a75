import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  findJava,
  findRedis,
  findZooKeeperJars,
  requireProgram,
  treeFolder,
} from '../../../src/lab/programs.ts';

let folder: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'fencepost-programs-')));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function place(file: string, mode = 0o755): string {
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '');
  chmodSync(path, mode);
  return path;
}

describe('finding server programs', () => {
  test('a server on PATH is preferred to an unpacked one', () => {
    const env = { PATH: join(folder, 'bin'), XDG_CACHE_HOME: join(folder, 'cache') };
    const installed = join(treeFolder(env, 'redis'), 'usr/bin/redis-server').slice(folder.length);
    place(installed);
    expect(findRedis(env)).toMatchObject({ from: 'installed' });
    const onPath = place('bin/redis-server');
    expect(findRedis(env)).toEqual({ file: onPath, env: {}, from: 'PATH' });
  });

  test('an unpacked server gets the libraries of its tree', () => {
    const env = { PATH: '', XDG_CACHE_HOME: join(folder, 'cache') };
    const tree = treeFolder(env, 'redis');
    place(join(tree, 'usr/bin/redis-server').slice(folder.length));
    mkdirSync(join(tree, 'usr/lib/x86_64-linux-gnu'), { recursive: true });
    expect(findRedis(env)?.env).toEqual({
      LD_LIBRARY_PATH: join(tree, 'usr/lib/x86_64-linux-gnu'),
    });
  });

  test('files that cannot be executed, dangling links and relative PATH entries are passed over', () => {
    place('a/redis-server', 0o644);
    mkdirSync(join(folder, 'b'));
    symlinkSync('nowhere', join(folder, 'b/redis-server'));
    const env = { PATH: `${folder}/a:${folder}/b:bin:`, XDG_CACHE_HOME: join(folder, 'cache') };
    expect(findRedis(env)).toBeUndefined();
  });

  test('JAVA_HOME comes before PATH', () => {
    place('bin/java');
    const file = place('home/bin/java');
    const env = { PATH: join(folder, 'bin'), JAVA_HOME: join(folder, 'home') };
    expect(findJava(env)).toEqual({ file, env: {}, from: 'JAVA_HOME' });
  });

  test('a ZooKeeper of Homebrew is found by its zkServer on PATH', () => {
    place('Cellar/zookeeper/3.9.3/bin/zkServer');
    const jar = place('Cellar/zookeeper/3.9.3/libexec/lib/zookeeper-3.9.3.jar');
    mkdirSync(join(folder, 'bin'));
    symlinkSync('../Cellar/zookeeper/3.9.3/bin/zkServer', join(folder, 'bin/zkServer'));
    expect(findZooKeeperJars({ PATH: join(folder, 'bin') })).toEqual({
      classPath: join(dirname(jar), '*'),
      from: 'PATH',
    });
  });

  test('a missing server is told with the command that gets it', () => {
    expect(() => {
      requireProgram(undefined, 'redis-server', 'redis');
    }).toThrow(
      expect.objectContaining({
        code: 'lab-server-missing',
        exitCode: 4,
        hint: 'run: fencepost lab install redis',
      }),
    );
  });
});
