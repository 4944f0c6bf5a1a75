/** `lab install` on a minimal Debian as an ordinary user. Needs root, debootstrap and a network. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const script = fileURLToPath(new URL('../fixtures/slim-root.sh', import.meta.url));
const project = fileURLToPath(new URL('../..', import.meta.url));
const cli = 'node bin/fencepost.js lab';
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fencepost-slim-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a shell command as the ordinary user; stdout and stderr joined. */
function inSlimRoot(command: string): Promise<{ readonly output: string; readonly code: number }> {
  const root = join(folder, 'root');
  const child = spawn(
    'unshare',
    ['--mount', 'sh', script, root, project, process.execPath, command],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (code) => {
      resolve({ output, code: code ?? -1 });
    });
  });
}

describe('lab install in a minimal Debian, as an ordinary user', () => {
  test('unpacks every server and Java, without root', async () => {
    const { output, code } = await inSlimRoot(`id -un; ${cli} install`);
    expect({ output, code }).toMatchObject({ code: 0 });
    expect(output).toMatch(/^tester$/m);
    for (const name of ['redis', 'etcd', 'zookeeper', 'java']) {
      expect(output).toMatch(new RegExp(`^${name} +[0-9.]+ +installed `, 'm'));
    }
  });

  test('what was unpacked starts: every topology', async () => {
    const labs = ['redis', 'etcd', 'etcd --members 3', 'zookeeper', 'zookeeper --members 3'];
    const ups = labs.map((lab) => `${cli} up ${lab}`).join(' && ');
    const { output, code } = await inSlimRoot(`${ups} && ${cli} down --all`);
    expect({ output, code }).toMatchObject({ code: 0 });
    expect(output.match(/^fencepost: stopped /gm)).toHaveLength(labs.length);
  });

  test('a tree that does not run, and drafts of a killed installation, are replaced', async () => {
    const trees = '~/.cache/fencepost/servers/*';
    const { output, code } = await inSlimRoot(
      `cd ${trees} && printf 'x' > redis/usr/bin/redis-check-rdb && rm -r etcd/usr/bin && ` +
        'echo "999999 1" > ../../install.lock && mkdir .draft-old && touch -d "2 days ago" .draft-old && ' +
        `cd /opt && ${cli} install redis etcd && ${cli} up redis && ${cli} up etcd && ` +
        `${cli} down --all && ls -A ${trees}`,
    );
    expect({ output, code }).toMatchObject({ code: 0 });
    expect(output).toContain('unpacking redis');
    expect(output).toContain('unpacking etcd');
    expect(output).not.toContain('.draft');
  });

  test('two installations at once do not disturb each other', async () => {
    const again = 'rm -rf ~/.cache/fencepost/servers/*/etcd';
    const { output, code } = await inSlimRoot(
      `${again}; ${cli} install etcd & first=$!; ${cli} install etcd && wait $first`,
    );
    expect({ output, code }).toMatchObject({ code: 0 });
    expect(output.match(/^etcd +3\./gm)).toHaveLength(2);
  });
});
