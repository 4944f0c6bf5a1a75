import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AuditLog } from '../../src/release/audit-log.ts';
import { fencepost, type Ran } from '../helpers/fencepost.ts';

let state = '';
let file = '';

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'fencepost-log-'));
  file = join(state, 'fencepost', 'releases.jsonl');
});
afterEach(() => rm(state, { recursive: true }));

function log(...args: readonly string[]): Promise<Ran> {
  return fencepost(['log', ...args], { XDG_STATE_HOME: state });
}

/** Two releases: of `a` with its outcome, of `b` by a program that was killed before its own. */
async function twoReleases(): Promise<void> {
  const audit = await AuditLog.open(file);
  const who = { clusterId: 'c1', user: 'ann', host: 'desk', reason: 'INC-1' };
  const { day, number } = await audit.append({ kind: 'intent', lock: 'a', ...who });
  const intent = `${day}#${number}`;
  await audit.append({ kind: 'outcome', lock: 'a', clusterId: 'c1', intent, outcome: 'released' });
  await audit.append({ kind: 'intent', lock: 'b', ...who });
}

describe('fencepost log', () => {
  test('lists what was released, by whom and why, and what has no outcome', async () => {
    await twoReleases();
    const { stdout, stderr, code } = await log();
    expect(code).toBe(0);
    const [heading, ...rows] = stdout.trimEnd().split('\n');
    expect(heading).toMatch(/^LOG +TIME +LOCK +OUTCOME +WAS +BY +REASON$/);
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatch(/#1 +[\d:]{8}Z +a +released +\? +ann@desk +INC-1$/);
    expect(rows[1]).toMatch(/#3 +[\d:]{8}Z +b +NOT RECORDED +/);
    expect(stderr).toBe(`2 releases · ${file}\n`);
  });

  test('as JSON, of one lock, the newest only', async () => {
    await twoReleases();
    await twoReleases();
    const { stdout, code } = await log('b', '--limit', '1', '-o', 'json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      schemaVersion: 1,
      file,
      releases: [{ lock: 'b', outcome: null, user: 'ann' }],
    });
  });

  test('on a machine that released nothing is empty, and verifies nothing', async () => {
    expect(await log()).toEqual({ stdout: '', stderr: `0 releases · ${file}\n`, code: 0 });
    const { stdout, code } = await log('--verify');
    expect(code).toBe(3);
    expect(stdout).toBe(`nothing to verify: ${file} does not exist\n`);
  });

  test('a file that was named and is not there is an input error', async () => {
    const { stdout, stderr, code } = await log('--audit-log', join(state, 'none'));
    expect({ stdout, code }).toEqual({ stdout: '', code: 2 });
    expect(stderr).toContain('cannot be read: ENOENT');
  });
});

describe('fencepost log --verify', () => {
  test('of a whole record prints the digest of its last line', async () => {
    await twoReleases();
    const { stdout, code } = await log('--verify');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^whole {3}3 lines, last digest [0-9a-f]{64}\n$/);
  });

  test.each([
    ['edited', (text: string) => text.replace('INC-1', 'INC-2'), 2],
    ['taken out', (text: string) => text.split('\n').toSpliced(1, 1).join('\n'), 2],
    ['cut off', (text: string) => text.slice(0, -20), 3],
  ])('of one in which a line was %s exits 1 and names the line', async (_, change, line) => {
    await twoReleases();
    await writeFile(file, change(await readFile(file, 'utf8')));
    const { stdout, code } = await log('--verify', '-o', 'json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ verdict: 'broken', brokenAt: line });
    expect((await log()).stderr).toContain(`line ${line} does not continue`);
  });

  test('together with a name is refused: the chain is of all releases', async () => {
    await twoReleases();
    const { stderr, code } = await log('a', '--verify');
    expect(code).toBe(2);
    expect(stderr).toContain('leave the name out');
  });
});
