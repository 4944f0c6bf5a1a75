import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  fencepost,
  inShell,
  onTerminal,
  startFencepost,
  type Running,
} from '../helpers/fencepost.ts';
import { silentServer, type TestServer } from '../helpers/tcp.ts';
import { until } from '../helpers/until.ts';

let folder: string;
let silent: TestServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fencepost-cli-'));
  silent = await silentServer();
});
afterAll(async () => {
  await silent.stop();
  rmSync(folder, { recursive: true });
});

describe('help', () => {
  test('lists every command once and the meaning of every exit code', async () => {
    const { stdout, stderr, code } = await fencepost(['--help']);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    for (const name of ['ls', 'show', 'history', 'lab', 'completion']) {
      expect(stdout.match(new RegExp(`^ {2}${name} `, 'gm'))).toHaveLength(1);
    }
    expect(stdout).toMatch(/^ {2}130 +interrupted/m);
    expect(stdout).not.toContain('__complete');
  });

  test('the answer kept by the build is the one that the program gives', async () => {
    const [kept, asked] = [await fencepost(['--help']), await fencepost(['--no-color', '--help'])];
    expect(kept.stdout).toBe(asked.stdout);
    expect(await fencepost(['help'])).toEqual(kept);
  });

  test('of a command has examples', async () => {
    for (const name of ['ls', 'show', 'history', 'completion']) {
      const { stdout, code } = await fencepost(['help', name]);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^Examples:\n {2}\S/m);
    }
  });

  test('loads no client library, no colours and no schema library', async () => {
    const trace = join(folder, 'trace.mjs');
    const loaded = join(folder, 'loaded');
    const hook = `import { appendFileSync } from 'node:fs';
      export async function resolve(name, context, next) {
        const found = await next(name, context);
        appendFileSync(${JSON.stringify(loaded)}, found.url + '\\n');
        return found;
      }`;
    const url = `data:text/javascript,${encodeURIComponent(hook)}`;
    writeFileSync(
      trace,
      `import { register } from 'node:module'; register(${JSON.stringify(url)});`,
    );
    await fencepost(['ls', '--help'], { NODE_OPTIONS: `--import ${trace}` });
    const files = readFileSync(loaded, 'utf8');
    expect(files).toContain('node_modules/commander/');
    expect(files).not.toMatch(/node_modules\/(?!commander\/)/);
  });
});

describe('usage errors', () => {
  const cases: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['a mistyped command', ['shwo', 'x'], /unknown command 'shwo'; did you mean show\?/],
    ['a mistyped option', ['ls', '--patern', 'x'], /unknown option '--patern'; did you mean --pat/],
    ['a missing name', ['show'], /missing required argument 'name'/],
    ['an unknown form', ['ls', '-o', 'xml'], /'xml' is invalid.*table, wide, json, jsonl, name/],
    [
      'a duration without a unit',
      ['ls', '--timeout', '3'],
      /--timeout .* no unit; write 3s or 3ms/,
    ],
    ['a count that is none', ['ls', '--limit', '0'], /--limit .* whole number, 1 or more/],
    ['an unknown state', ['ls', '--state', 'dead'], /--state .* held, free, no-ttl/],
    ['no target at all', ['ls'], /no target given/],
    [
      'two targets for one',
      ['show', 'x', '--target', 'zk://a', '--target', 'zk://b'],
      /one target/,
    ],
    ['a bad URL', ['ls', '--target', 'http://x'], /"http:\/\/x" is not a target URL/],
    ['an unreadable password file', passwordFile('/nowhere/pw'), /"\/nowhere\/pw": ENOENT/],
    [
      'a question without a terminal',
      ['ls', '--target', 'redis://x', '--ask-password'],
      /no terminal/,
    ],
  ];

  function passwordFile(file: string): readonly string[] {
    return ['ls', '--target', 'redis://127.0.0.1', '--password-file', file];
  }

  test.each(cases)('%s is one clear sentence and exit code 2', async (_title, args, sentence) => {
    const { stdout, stderr, code } = await fencepost(args, { FENCEPOST_TARGET: '' });
    expect({ stdout, code }).toEqual({ stdout: '', code: 2 });
    expect(stderr).toMatch(sentence);
    expect(stderr).toMatch(/^fencepost: /);
    expect(stderr.trimEnd().split('\n').length).toBeLessThanOrEqual(2);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test('an argument with an escape sequence is quoted back disarmed', async () => {
    const { stderr } = await fencepost(['\u001b[31mls']);
    expect(stderr).toContain("unknown command '\\x1b[31mls'");
  });
});

describe('shell completion', () => {
  async function bashOffers(line: string): Promise<readonly string[]> {
    const words = `COMP_LINE=${JSON.stringify(line)}; COMP_POINT=\${#COMP_LINE}; _fencepost fencepost`;
    const { stdout, stderr } = await inShell(
      `source <(fencepost completion bash); compopt() { echo "compopt $*"; }; ${words}; printf '%s\\n' "\${COMPREPLY[@]}"`,
    );
    expect(stderr).toBe('');
    return stdout.trimEnd().split('\n');
  }

  test('a real bash completes commands, options and values', async () => {
    expect(await bashOffers('fencepost hi')).toEqual(['history']);
    expect(await bashOffers('fencepost ls --no-h')).toEqual(['--no-headers']);
    expect(await bashOffers('fencepost ls --target redis://h:1 -o j')).toEqual(['json', 'jsonl']);
    expect(await bashOffers('fencepost completion ')).toEqual(['bash', 'zsh', 'fish']);
  });

  test('a real bash completes file names where a file is wanted', async () => {
    expect(await bashOffers('fencepost ls --password-file ')).toContain('compopt -o default');
  });
});

describe('a server that never answers', () => {
  const target = (): string => `redis://127.0.0.1:${silent.port}`;

  async function startConnected(url: string, ...more: readonly string[]): Promise<Running> {
    const before = silent.accepted();
    const running = startFencepost(['ls', '--target', url, ...more]);
    await until('fencepost has connected', () => silent.accepted() > before);
    return running;
  }

  test('is reported after the deadline for an answer', async () => {
    const { ended } = await startConnected(target());
    const before = performance.now();
    const { stderr, code } = await ended;
    expect(code).toBe(4);
    expect(stderr).toContain(`${target()} did not answer within 1500 ms`);
    // Two seconds where nothing else runs; the test's machine may be busy.
    expect(performance.now() - before).toBeLessThan(10_000);
  });

  test('Ctrl-C ends the wait at once with code 130', async () => {
    const { child, ended } = await startConnected(target(), '--connect-timeout', '60s');
    const before = performance.now();
    child.kill('SIGINT');
    const { stderr, code } = await ended;
    expect({ stderr, code }).toEqual({ stderr: 'fencepost: interrupted\n', code: 130 });
    // Not the minute that was asked for.
    expect(performance.now() - before).toBeLessThan(15_000);
  });

  test('a password in the URL leaves the list of processes', async () => {
    const url = `redis://:verysecret@127.0.0.1:${silent.port}`;
    const { child, ended } = await startConnected(url, '--connect-timeout', '60s');
    const line = readFileSync(`/proc/${child.pid ?? 0}/cmdline`, 'utf8');
    child.kill('SIGINT');
    await ended;
    expect(line).not.toContain('verysecret');
    expect(line).toContain('redis://:***@');
  });
});

test('Ctrl-C at the question for a password ends with code 130', async () => {
  const args = ['ls', '--target', `redis://127.0.0.1:${silent.port}`, '--ask-password'];
  const typed = { after: 'Password: ', keys: '\u0003' };
  const { stdout, code } = await onTerminal(args, { typed });
  expect({ stdout, code }).toEqual({
    stdout: 'Password: \r\nfencepost: interrupted\r\n',
    code: 130,
  });
});
