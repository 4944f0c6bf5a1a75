/** Where the lab keeps things: unpacked servers, records of running labs, and their data. */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { freemem, homedir, tmpdir, userInfo } from 'node:os';
import { basename, join } from 'node:path';
import { InternalError } from '../domain/errors.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Servers unpacked by `lab install`. */
export function cacheFolder(env: Environment): string {
  return join(absolute(env['XDG_CACHE_HOME']) ?? join(homedir(), '.cache'), 'fencepost');
}

/** Records of labs, one JSON file each. */
export function recordsFolder(env: Environment): string {
  const state = absolute(env['XDG_STATE_HOME']) ?? join(homedir(), '.local', 'state');
  return join(state, 'fencepost', 'labs');
}

/** Ports taken by labs of this user, one file each, whatever their state folder. */
export function portsFolder(): string {
  return join(tmpdir(), `fencepost-ports-${String(userInfo().uid)}`);
}

/** The folder of every lab is called so. */
export const labFolderPrefix = 'fencepost-lab-';
const inMemory = '/dev/shm';
/** etcd allocates 128 MB a member before its first write. */
const roomWantedBytes = 1024 ** 3;

/** Makes the folder of one lab: in memory where there is room, since servers wait for every fsync. */
export function makeLabFolder(): string {
  const parent = hasRoom(inMemory) && freemem() > 2 * roomWantedBytes ? inMemory : tmpdir();
  return mkdtempSync(join(parent, labFolderPrefix));
}

/** Where folders of labs may be. */
export function labFolderParents(): readonly string[] {
  return [inMemory, tmpdir()];
}

/** Removes a lab's folder. @throws {InternalError} for any folder that is not one */
export function removeLabFolder(folder: string): void {
  if (!basename(folder).startsWith(labFolderPrefix)) {
    throw new InternalError(`"${folder}" is not the folder of a lab`, { code: 'not-a-lab-folder' });
  }
  // A killed server may still finish a write into it: retry on ENOTEMPTY.
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= roomWantedBytes;
  } catch {
    // No such mount (macOS, some containers).
    return false;
  }
}

/** The XDG specification: relative paths are to be ignored. */
function absolute(path: string | undefined): string | undefined {
  return path?.startsWith('/') === true ? path : undefined;
}
