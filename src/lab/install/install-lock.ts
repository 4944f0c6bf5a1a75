/**
 * Keeps two installations from fetching the same at once. Only that: an unpacked tree appears by one
 * rename, so it would be right without the lock too.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { TargetError } from '../../domain/errors.ts';
import { identify, isRunning } from '../kill.ts';

const waitDeadlineMs = 15 * 60_000;
const pollMs = 200;

/** Runs `work` while holding the lock; takes it over from a process that is gone. */
export async function withInstallLock(
  file: string,
  report: (line: string) => void,
  work: () => Promise<void>,
): Promise<void> {
  mkdirSync(dirname(file), { recursive: true });
  const self = await identify(process.pid);
  const deadline = Date.now() + waitDeadlineMs;
  let told = false;
  while (!take(file, `${process.pid} ${self?.startTime ?? ''}`)) {
    if (!(await holderRuns(file))) {
      rmSync(file, { force: true });
      continue;
    }
    if (!told) report('waiting for another installation to finish');
    told = true;
    if (Date.now() > deadline) {
      throw new TargetError(`another installation holds "${file}" for too long`, {
        code: 'install-locked',
        hint: 'if none runs, remove that file',
        definite: true,
      });
    }
    await delay(pollMs);
  }
  try {
    await work();
  } finally {
    rmSync(file, { force: true });
  }
}

function take(file: string, text: string): boolean {
  try {
    writeFileSync(file, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

async function holderRuns(file: string): Promise<boolean> {
  try {
    const [, pid = '', startTime = ''] = /^(\d+) (.*)$/.exec(readFileSync(file, 'utf8')) ?? [];
    return await isRunning({ pid: Number(pid), startTime });
  } catch {
    // Given back in between.
    return false;
  }
}
