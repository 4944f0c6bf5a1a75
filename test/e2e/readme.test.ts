import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findRedis } from '../../src/lab/programs.ts';
import { readConsoleBlocks, sameOutput } from '../helpers/readme-session.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const readme = await readFile(join(root, 'README.md'), 'utf8');
const commands = readConsoleBlocks(readme);

describe('the README', () => {
  let home = '';
  let results: readonly { readonly output: readonly string[]; readonly exitCode: number }[] = [];

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'fencepost-readme-'));
    results = await runSession(home);
  }, 300_000);

  afterAll(async () => {
    await runBash('fencepost lab down --all', home);
    await rm(home, { recursive: true, force: true });
  });

  test('has commands to run', () => {
    expect(commands.length).toBeGreaterThan(8);
    expect(results.length).toBe(commands.length);
  });

  test.each(commands.map((one, index) => ({ ...one, index, title: one.command.split('\n')[0] })))(
    'line $line prints what `$title` prints',
    ({ index, command, output, exitCode }) => {
      const result = results[index];
      // Locks are listed in the order of the server's own scan, which differs from server to server.
      const order = command.startsWith('fencepost ls') ? sorted : same;
      if (!sameOutput(order(output), order(result?.output ?? []))) {
        expect(result?.output.join('\n')).toBe(output.join('\n'));
      }
      expect(result?.exitCode).toBe(exitCode);
    },
  );
});

describe('the README’s examples for your own servers', () => {
  const examples = [...readme.matchAll(/^fencepost .*--target .*$/gm)].map(([line]) => line);

  test.each(examples)('`%s` is understood, and only lacks the server', async (line) => {
    const home = await mkdtemp(join(tmpdir(), 'fencepost-readme-'));
    const file = join(home, 'file');
    await writeFile(file, 'not a certificate\n');
    const local = line
      .replace(/(?:10\.0\.0\.4|cache\.internal):\d+/, '127.0.0.1:1')
      .replace(/\/(?:run|etc)\/[\w./-]+/, file);
    const text = await runBash(`${local}; echo "exit $?"`, home);
    await rm(home, { recursive: true, force: true });
    expect(text).toContain('cannot reach');
    expect(text).toContain('exit 4');
  });
});

const same = (lines: readonly string[]): readonly string[] => lines;
const sorted = (lines: readonly string[]): readonly string[] => [...lines].sort();

const mark = '@@fencepost-readme@@';

/** All commands in one shell, so that variables and servers live on from one to the next. */
async function runSession(home: string) {
  const script = commands
    .map(({ command }) => `${command}\nprintf '%s %s\\n' '${mark}' "$?"`)
    .join('\n');
  const text = await runBash(script, home);
  const results: { output: string[]; exitCode: number }[] = [];
  let output: string[] = [];
  for (const line of text.split('\n')) {
    const at = line.indexOf(mark);
    if (at === -1) {
      output.push(line);
      continue;
    }
    if (at > 0) output.push(line.slice(0, at));
    results.push({ output, exitCode: Number(line.slice(at + mark.length)) });
    output = [];
  }
  return results;
}

async function runBash(script: string, home: string): Promise<string> {
  const bin = join(home, 'bin');
  await mkdir(bin, { recursive: true });
  await writeShim(
    join(bin, 'fencepost'),
    `exec "${process.execPath}" "${root}bin/fencepost.js" "$@"`,
  );
  const redis = findRedis(process.env);
  if (redis === undefined) throw new Error('no redis-server: run `fencepost lab install`');
  // The client beside the server; the shell itself stays as a user's is.
  await writeShim(
    join(bin, 'redis-cli'),
    `LD_LIBRARY_PATH="${redis.env.LD_LIBRARY_PATH ?? ''}" exec "${dirname(redis.file)}/redis-cli" "$@"`,
  );
  return new Promise((resolve, reject) => {
    const shell = spawn('bash', ['-c', `exec 2>&1\n${script}`], {
      cwd: home,
      env: {
        ...process.env,
        PATH: [bin, process.env.PATH ?? ''].join(':'),
        XDG_STATE_HOME: join(home, 'state'),
        NO_COLOR: '1',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    shell.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    shell.on('error', reject);
    shell.on('close', () => {
      resolve(text);
    });
  });
}

async function writeShim(file: string, command: string): Promise<void> {
  await writeFile(file, `#!/bin/sh\n${command}\n`);
  await chmod(file, 0o755);
}
