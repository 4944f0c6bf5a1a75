import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fencepost, onTerminal, type Ran } from '../helpers/fencepost.ts';
import { redisDo, redisPort } from '../helpers/redis.ts';
import { useLab } from '../helpers/servers.ts';
import { deadPort, silentServer } from '../helpers/tcp.ts';

const redis = useLab({ system: 'redis' });
const secret = 'hunter2/#?x';
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fencepost-errors-'));
  await redisDo(
    redis,
    ['SET', 'lock:a', '9f31c0a7d2e84b5fa1c6', 'PX', '600000'],
    ['ACL', 'SETUSER', 'app', 'on', `>${secret}`, '~app:*', '&*', '+@all', '-@dangerous'],
    ['ACL', 'SETUSER', 'reader', 'on', `>${secret}`, '~*', '+@read'],
    ['ACL', 'SETUSER', 'nothing', 'on', `>${secret}`],
    ['ACL', 'SETUSER', 'default', `>${secret}`],
    ['ACL', 'SETUSER', 'default', 'resetpass', `>${secret}`],
  ).catch((error: unknown) => {
    // The last command takes effect on this very connection and may cut its reply short.
    if (!String(error).includes('NOAUTH')) throw error;
  });
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function url(user: string, password = secret): string {
  return `redis://${user}:${encodeURIComponent(password)}@127.0.0.1:${redisPort(redis)}`;
}

/** One sentence and its hint, nothing of a stack, nothing of a secret, nothing on stdout. */
function expectOneSentence({ stdout, stderr }: Ran, sentence: RegExp): void {
  expect(stdout).toBe('');
  expect(stderr).toMatch(sentence);
  expect(stderr.trimEnd().split('\n').length).toBeLessThanOrEqual(3);
  expect(stderr).not.toMatch(/^\s+at |node:internal|Error:/m);
  expectNoSecret(stderr);
}

function expectNoSecret(text: string): void {
  for (const form of [secret, encodeURIComponent(secret), 'hunter2', 'wrongpw']) {
    expect(text).not.toContain(form);
  }
}

const commands: readonly (readonly string[])[] = [
  ['ls'],
  ['show', 'lock:a', '--observe', 'off'],
  ['history', 'lock:a'],
];

describe.each(commands)('fencepost %s', (...command) => {
  const run = (...args: readonly string[]): Promise<Ran> => fencepost([...command, ...args]);

  test('names a dead server, and how to start one', async () => {
    const dead = `redis://me:${encodeURIComponent(secret)}@127.0.0.1:${await deadPort()}`;
    const ran = await run('--target', dead);
    expect(ran.code).toBe(4);
    expectOneSentence(ran, /cannot reach redis:\/\/me@127\.0\.0\.1:\d+: connection refused/);
    expect(ran.stderr).toContain('`fencepost lab up redis`');
  });

  test('tells a missing, a wrong and an insufficient account apart', async () => {
    const missing = await run('--target', redis.target);
    expect(missing.code).toBe(4);
    expectOneSentence(missing, /wants a password and none was given/);
    const wrong = await run('--target', url('app', 'wrongpw'));
    expect(wrong.code).toBe(4);
    expectOneSentence(wrong, /refused the user name or password/);
    const weak = await run('--target', url('nothing'));
    expect(weak.code).toBe(4);
    expectOneSentence(weak, /the account "nothing" may not run /);
  });

  test('does not print a password that makes the URL unreadable', async () => {
    const ran = await run('--target', `redis://me:${secret}@127.0.0.1:99999`);
    expect(ran.code).toBe(2);
    expectOneSentence(ran, /^fencepost: "redis:\/\/me:\*\*\*@127/);
  });
});

describe('an account with few rights', () => {
  test('sees the locks it may read, and how many records are hidden from it', async () => {
    const { stdout, stderr, code } = await fencepost(['ls', '--target', url('app')]);
    expect({ stdout, code }).toEqual({ stdout: '', code: 0 });
    expect(stderr).toMatch(/no locks found · .*1 record hidden: this account may not read them/);
  });

  test('is told which evidence it was refused and what would allow it', async () => {
    const args = ['show', 'lock:a', '--observe', 'off', '--target', url('reader')];
    const { stdout, code } = await fencepost(args);
    expect(code).toBe(0);
    expect(stdout).toMatch(/may not list the clients/);
    expect(stdout).toMatch(/^Next: for stronger evidence: .*client\|list/m);
  });
});

describe('passwords', () => {
  const everyForm: readonly { readonly args: readonly string[] }[] = [
    { args: ['ls', '-o', 'table'] },
    { args: ['ls', '-o', 'wide'] },
    { args: ['ls', '-o', 'json'] },
    { args: ['ls', '-o', 'jsonl'] },
    { args: ['show', 'lock:a', '--observe', 'off'] },
    { args: ['show', 'lock:a', '--observe', 'off', '-o', 'json'] },
    { args: ['history', 'lock:a', '-o', 'json'] },
  ];

  test.each(everyForm)('are in no output of $args', async ({ args }) => {
    const { stdout, stderr, code } = await fencepost([...args, '--target', url('default')]);
    expect(code).toBe(0);
    expect(stdout).toContain('lock:a');
    expectNoSecret(stdout + stderr);
  });

  test('come from the environment, and from a file without its last line break', async () => {
    const args = ['ls', '-o', 'name', '--target', redis.target];
    expect((await fencepost(args, { FENCEPOST_PASSWORD: secret })).stdout).toBe('lock:a\n');
    const file = join(folder, 'password');
    writeFileSync(file, `${secret}\n`);
    const fromFile = await fencepost([...args, '--password-file', file]);
    expect(fromFile.stdout).toBe('lock:a\n');
  });

  test('given by flag win over the URL, which wins over the environment', async () => {
    const file = join(folder, 'right');
    writeFileSync(file, secret);
    const wrong = url('default', 'wrongpw');
    const byFile = await fencepost([
      'ls',
      '-o',
      'name',
      '--target',
      wrong,
      '--password-file',
      file,
    ]);
    expect(byFile.stdout).toBe('lock:a\n');
    const args = ['ls', '-o', 'name', '--target', url('default')];
    expect((await fencepost(args, { FENCEPOST_PASSWORD: 'wrongpw' })).stdout).toBe('lock:a\n');
  });

  test('typed at the question are used and not shown', async () => {
    const args = ['ls', '-o', 'name', '--target', redis.target, '--ask-password'];
    const typed = { after: 'Password: ', keys: `${secret}\r` };
    const { stdout, code } = await onTerminal(args, { typed });
    expect(code).toBe(0);
    expect(stdout).toContain('lock:a');
    expectNoSecret(stdout);
  });
});

test('a server that speaks something else is told from one that is not there', async () => {
  const silent = await silentServer();
  const target = `redis://127.0.0.1:${silent.port}`;
  const ran = await fencepost(['ls', '--target', target, '--connect-timeout', '300ms']);
  await silent.stop();
  expect(ran.code).toBe(4);
  expectOneSentence(ran, /did not answer within 300 ms/);
});
