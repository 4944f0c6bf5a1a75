import { describe, expect, test } from 'vitest';
import { fencepost, inShell } from '../helpers/fencepost.ts';
import { redisDo } from '../helpers/redis.ts';
import { useLab } from '../helpers/servers.ts';

const redis = useLab({ system: 'redis' });

describe('names that are hostile to terminals and shells', () => {
  /** What a real shell makes of a command line. */
  async function argumentsOf(line = ''): Promise<readonly string[]> {
    const { stdout } = await inShell(`fencepost() { printf '%s\\n' "$@"; }; ${line}`);
    return stdout.split('\n');
  }

  const names: readonly (readonly [string, string])[] = [
    ['an escape sequence', 'lock:\\27[31mred'],
    ['a line break', 'lock:a\\nb'],
    ['bytes that are not UTF-8', 'lock:\\255\\254'],
    ['a right-to-left override', 'lock:\\226\\128\\174evil'],
    ['quotes and spaces', 'lock:it\'s a \\"$(touch x)\\"'],
    ['a backslash', 'lock:back\\\\slash'],
    ['a leading dash', '-lock:dash'],
  ];

  test.each(names)('with %s are shown escaped and can be given back', async (_title, lua) => {
    await redisDo(redis, [
      'EVAL',
      `return redis.call('SET', "${lua}", "owner\\27]0;x", 'PX', 600000)`,
      '0',
    ]);
    const listed = await fencepost(['ls', '--target', redis.target, '-o', 'name']);
    const name = listed.stdout.slice(0, -1);
    expect(name).not.toBe('');
    const args = ['--target', redis.target, '--observe', 'off', '--', name];
    const shown = await fencepost(['show', ...args]);
    expect(shown.code).toBe(0);
    for (const text of [listed.stdout, shown.stdout, shown.stderr]) {
      expect(text).not.toMatch(/[^\P{C}\n]/u);
    }
    expect(shown.stdout).toContain('owner\\x1b]0;x');
    expect(await argumentsOf(/^ {2}(fencepost release .*)$/m.exec(shown.stdout)?.[1])).toContain(
      name,
    );
    await redisDo(redis, ['EVAL', `return redis.call('DEL', "${lua}")`, '0']);
  });
});
