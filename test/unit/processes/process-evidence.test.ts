import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { findOnPath } from '../../../src/lab/programs.ts';
import {
  openProcessReader,
  parseProcStat,
  parsePs,
  signalGroup,
} from '../../../src/processes/process-evidence.ts';
import { until } from '../../helpers/until.ts';

/** macOS has no /proc, and a minimal Debian no ps: each reader is tried where its source is. */
const readersHere = [
  ...(existsSync('/proc/self/stat') ? (['linux'] as const) : []),
  ...(findOnPath(process.env, 'ps') === undefined ? [] : (['darwin'] as const)),
];

describe('facts about processes', () => {
  test('a command name with spaces and parentheses does not shift the fields of /proc', () => {
    const rest = '1 42 42 0 -1 0 0 0 0 0 7 5 0 0 20 0 1 0 9999 0 0';
    expect(parseProcStat(`42 (a) b (c) T ${rest}`)).toEqual({
      pid: 42,
      pgid: 42,
      state: 'T',
      cpuMs: 120,
      startTime: '9999',
    });
  });

  test('ps output of macOS is read, also beyond an hour and a day', () => {
    const output =
      '  501   501 Ss     0:01.50 Mon Nov 30 09:00:00 2026    \n' +
      '  502   501 T   1-02:00:01 Mon Nov 30 09:00:01 2026\n\n';
    expect(parsePs(output)).toMatchObject([
      { pid: 501, pgid: 501, state: 'S', cpuMs: 1500 },
      { pid: 502, state: 'T', cpuMs: 93_601_000, startTime: 'Mon Nov 30 09:00:01 2026' },
    ]);
  });

  test.each(readersHere)(
    'a stopped group is seen as stopped, leader and helper alike, by the reader of %s',
    async (platform) => {
      const child = spawn('sh', ['-c', 'sleep 30 & wait'], { detached: true, stdio: 'ignore' });
      const pid = child.pid ?? 0;
      const reader = openProcessReader(platform);
      try {
        const group = await until('both run', async () => {
          const all = await reader.readGroup(pid);
          return all.length === 2 && all;
        });
        const leader = group.find((facts) => facts.pid === pid);
        expect(leader).toBeDefined();
        expect(await signalGroup(leader ?? { pid, startTime: '' }, 'SIGSTOP', reader)).toBe(true);
        await until('both are stopped', async () =>
          (await reader.readGroup(pid)).every((facts) => facts.state === 'T'),
        );
      } finally {
        process.kill(-pid, 'SIGKILL');
      }
      await until('the group is gone', async () => (await reader.readGroup(pid)).length === 0);
    },
  );

  test('a process of the same number that started at another time is not signalled', async () => {
    const child = spawn('sleep', ['30'], { detached: true, stdio: 'ignore' });
    const pid = child.pid ?? 0;
    try {
      expect(await signalGroup({ pid, startTime: '1' }, 'SIGKILL')).toBe(false);
      expect(child.exitCode).toBeNull();
    } finally {
      child.kill('SIGKILL');
    }
  });
});
