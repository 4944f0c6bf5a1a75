/**
 * Exclusive lock files, for writers of one file on one machine: taken by exclusive creation, given
 * back by removal, and taken over at once from a process that died with it.
 */
import { link, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/** A lock file that does not say whose it is (a crash between creation and writing) is dead by then. */
const namelessMs = 10_000;
const retryMs = 20;

/**
 * Runs `work` while holding `file`.
 * @throws {Error} when it cannot be created, or another living process keeps it for `timeoutMs`
 */
export async function withFileLock<T>(
  file: string,
  work: () => Promise<T>,
  timeoutMs = 5_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  while (!(await tryTake(file))) {
    const left = await leftBehind(file);
    if (left !== undefined) await takeAway(file, left);
    else if (performance.now() > deadline) throw new Error(`another process keeps ${file}`);
    else await delay(retryMs);
  }
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}

async function tryTake(file: string): Promise<boolean> {
  try {
    await writeFile(file, `${hostname()} ${process.pid}`, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Content of a lock file whose process is dead; undefined: it is alive, or the file is gone. */
async function leftBehind(file: string): Promise<string | undefined> {
  try {
    const content = await readFile(file, 'utf8');
    const owner = /^(\S+) (\d+)$/.exec(content);
    if (owner?.[1] === hostname()) return isAlive(Number(owner[2])) ? undefined : content;
    const { mtimeMs } = await stat(file);
    return Date.now() - mtimeMs > namelessMs ? content : undefined;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** Moved first and looked at again: a third process may have taken it over since the look. */
async function takeAway(file: string, left: string): Promise<void> {
  const aside = `${file}.${process.pid}`;
  try {
    await rename(file, aside);
    if ((await readFile(aside, 'utf8')) !== left) await link(aside, file);
    await rm(aside, { force: true });
  } catch (error) {
    // Another was quicker: the next attempt to take it tells.
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'EEXIST') throw error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
