import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { writeHistory } from '../../src/checks/write-history.ts';
import { fencepost, inShell } from '../helpers/fencepost.ts';
import { HistoryBuilder } from '../helpers/history-builder.ts';

const recorded = 'test/fixtures/histories/overrunning-job.jsonl';
const folder = mkdtempSync(join(tmpdir(), 'fencepost-check-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const sound = file(
  'sound.jsonl',
  writeHistory(
    new HistoryBuilder()
      .granted('A', [0, 5], 1n)
      .release('A', [50, 55])
      .granted('B', [60, 65], 2n)
      .build(),
  ),
);
const lines = readFileSync(recorded, 'utf8').split('\n');

describe('the verdict of a history', () => {
  test('a recorded failure exits 1 with each violation and its shortest witness', async () => {
    const ran = await fencepost(['check', recorded]);
    expect(ran.code).toBe(1);
    expect(ran.stdout).toMatch(/^mutual-exclusion:service {2}jobs:send {2}VIOLATED {7}Y and Z/m);
    expect(ran.stdout).toMatch(/^no-foreign-release {8}jobs:send {2}VIOLATED/m);
    expect(ran.stdout).toMatch(/^effect-at-most-once {7}jobs:send {2}VIOLATED/m);
    expect(ran.stdout).toContain(
      [
        'no-foreign-release of jobs:send',
        '  event 3: 10.05 s  Y acquire: ok',
        '  event 5: 12.00 s  X release: ok',
        '  event 7: 12.10 s  Z acquire: ok',
      ].join('\n'),
    );
    expect(ran.stderr).toContain('numbered by their time');
    expect(ran.stderr).toContain('3 violated');
  });

  test('a sound history passes; what it does not exercise fails only when it is named', async () => {
    expect((await fencepost(['check', sound])).code).toBe(0);
    const held = await fencepost(['check', sound, '--invariant', 'fence-strictly-grows']);
    expect(held.code).toBe(0);
    const unexercised = await fencepost(['check', sound, '--invariant', 'order-closed-once']);
    expect(unexercised.code).toBe(3);
    expect(unexercised.stdout).toContain('not exercised');
  });

  test('a violation outweighs everything else, whatever the order of the files', async () => {
    expect((await fencepost(['check', sound, recorded])).code).toBe(1);
    expect((await fencepost(['check', recorded, sound])).code).toBe(1);
  });

  test('a history that puts nothing to the test does not pass', async () => {
    const header = file('header.jsonl', `${lines[0] ?? ''}\n`);
    expect((await fencepost(['check', header])).code).toBe(3);
  });

  test('stdin is read, and --lease serves grants that name none', async () => {
    const unleased = file(
      'unleased.jsonl',
      writeHistory(
        new HistoryBuilder()
          .op('acquire', 'A', [0, 5], 'ok')
          .op('acquire', 'B', [60, 65], 'ok')
          .build(),
      ),
    );
    const check = `fencepost check - --invariant mutual-exclusion < ${unleased}`;
    expect((await inShell(check)).code).toBe(1);
    expect((await inShell(`${check} --lease 50ms`)).code).toBe(0);
  });

  test('JSON and JUnit carry the same verdicts', async () => {
    const json = await fencepost(['check', recorded, '-o', 'json']);
    const shape = z.object({
      schemaVersion: z.literal(1),
      histories: z.array(
        z.object({
          verdict: z.string(),
          results: z.array(z.object({ invariant: z.string(), verdict: z.string() })),
        }),
      ),
    });
    const [history] = shape.parse(JSON.parse(json.stdout)).histories;
    expect(history?.verdict).toBe('violated');
    const junit = await fencepost(['check', recorded, '-o', 'junit']);
    expect(junit.stdout).toContain('failures="3" errors="0"');
    expect(junit.code).toBe(1);
  });

  test('control characters in a history never reach the terminal', async () => {
    const hostile = file(
      'hostile.jsonl',
      readFileSync(recorded, 'utf8').replaceAll('jobs:send', '\\u001b[31mred\\n\\u202e'),
    );
    const { stdout } = await fencepost(['check', hostile]);
    expect(stdout).not.toMatch(/[^\P{C}\n]/u);
    expect(stdout).toContain('\\x1b[31mred');
  });
});

describe('bad input', () => {
  test.each([
    ['an empty file', '', 'the history is empty', 1],
    ['a cut-off file', lines.slice(0, 3).join('\n').slice(0, -20), 'is cut off', 3],
    ['a line that is not JSON', `${lines[0] ?? ''}\n{nonsense\n`, 'is not JSON', 2],
    [
      'an unknown field',
      `${lines[0] ?? ''}\n${(lines[1] ?? '').replace('"leaseMs"', '"leasMs"')}\n`,
      'did you mean "leaseMs"?',
      2,
    ],
  ])('%s exits 2 with its place', async (name, content, message, line) => {
    const path = file(`${name}.jsonl`, content);
    const ran = await fencepost(['check', path]);
    expect(ran.code).toBe(2);
    expect(ran.stdout).toBe('');
    expect(ran.stderr).toContain(`${path}:${line}:`);
    expect(ran.stderr).toContain(message);
    expect(ran.stderr).not.toMatch(/^\s+at /m);
  });

  test('a missing file, no file and an unknown invariant are usage errors', async () => {
    const missing = await fencepost(['check', join(folder, 'nowhere.jsonl')]);
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('ENOENT') as string });
    expect((await fencepost(['check'])).code).toBe(2);
    const unknown = await fencepost(['check', sound, '--invariant', 'no-foriegn-release']);
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('did you mean "no-foreign-release"?');
  });

  test('--schema prints JSON Schema and needs no file', async () => {
    const ran = await fencepost(['check', '--schema']);
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.stdout)).toHaveProperty('anyOf');
  });
});
