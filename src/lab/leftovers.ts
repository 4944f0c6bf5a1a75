/**
 * Lab folders that no record of this user leads to: their starter was killed before it wrote one,
 * or the record lies in a state folder that is not ours or is gone. Each folder notes who made it.
 */
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { labFolderParents, labFolderPrefix, removeLabFolder, type Environment } from './folders.ts';
import { isRunning, killLabProcesses, processesOf } from './kill.ts';
import {
  adoptedProcesses,
  identityShape,
  listRecords,
  readRecord,
  removeAbandonedLabs,
  removeLab,
} from './records.ts';
import type { ProcessIdentity } from '../processes/process-evidence.ts';

const noteShape = z.object({ starter: identityShape, record: z.string(), pids: z.string() });

type Note = z.infer<typeof noteShape>;

/** A folder without a note is as young as this at most, or its maker died before writing it. */
const noteWithinMs = 60_000;

/** Notes down whose folder it is, right after it was made. */
export function noteStarter(folder: string, starter: ProcessIdentity, record: string): void {
  const note = { starter, record, pids: pidNamespace() } satisfies Note;
  writeFileSync(noteFile(folder), JSON.stringify(note), { mode: 0o600 });
}

/** Removes every lab, recorded or not, whose run or starter was killed. @returns a line for each */
export async function tidyLabs(env: Environment): Promise<readonly string[]> {
  const abandoned = await removeAbandonedLabs(env);
  const folders = await removeLeftovers(env);
  return [
    ...abandoned.map(({ id }) => `removed lab ${id}, whose run is gone`),
    ...folders.map((folder) => `removed ${folder}, whose run is gone`),
  ];
}

/**
 * Removes what killed starters left: the folder, and every process that still writes into it.
 * A lab with a living starter, owner or (from another state folder) server is left alone.
 * @returns the folders removed
 */
async function removeLeftovers(env: Environment): Promise<readonly string[]> {
  const recorded = new Set(listRecords(env).map(({ folder }) => folder));
  const removed: string[] = [];
  for (const folder of ownLabFolders()) {
    if (!recorded.has(folder) && (await removeIfLeft(folder))) removed.push(folder);
  }
  return removed;
}

async function removeIfLeft(folder: string): Promise<boolean> {
  const note = readNote(folder);
  if (note === undefined ? await mayBeInUse(folder) : await isKept(folder, note)) return false;
  const record = note && readRecord(note.record);
  if (note !== undefined && record?.folder === folder) await removeLab(note.record, record);
  else {
    await killLabProcesses(adoptedProcesses(folder), folder);
    removeLabFolder(folder);
  }
  return true;
}

/** Without a note nothing tells whose it is: it may be young, or made by another version. */
async function mayBeInUse(folder: string): Promise<boolean> {
  const ageMs = Date.now() - (madeAtMs(folder) ?? Date.now());
  return ageMs < noteWithinMs || (await processesOf(folder)).length > 0;
}

async function isKept(folder: string, note: Note): Promise<boolean> {
  // Process numbers of another container say nothing here.
  if (note.pids !== pidNamespace() || (await isRunning(note.starter))) return true;
  const record = readRecord(note.record);
  // A record that another version wrote is that version's to remove.
  if (record?.folder !== folder) return record === undefined && existsSync(note.record);
  const keepers = record.owner === undefined ? record.servers : [record.owner];
  for (const each of keepers) if (await isRunning(each)) return true;
  return false;
}

function ownLabFolders(): readonly string[] {
  return labFolderParents().flatMap((parent) =>
    namesIn(parent)
      .filter((name) => name.startsWith(labFolderPrefix))
      .map((name) => join(parent, name))
      .filter(isOwnFolder),
  );
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // No such place on this system (/dev/shm on macOS): nothing lies there.
    return [];
  }
}

function isOwnFolder(path: string): boolean {
  try {
    const stat = lstatSync(path);
    return stat.isDirectory() && stat.uid === userInfo().uid;
  } catch {
    // Removed in between.
    return false;
  }
}

function madeAtMs(folder: string): number | undefined {
  try {
    return lstatSync(folder).mtimeMs;
  } catch {
    // Removed in between.
    return undefined;
  }
}

function readNote(folder: string): Note | undefined {
  try {
    return noteShape.safeParse(JSON.parse(readFileSync(noteFile(folder), 'utf8'))).data;
  } catch {
    // None yet, or cut short by the kill.
    return undefined;
  }
}

function noteFile(folder: string): string {
  return join(folder, 'starter.json');
}

/** Names the space in which process numbers mean something; the same everywhere but on Linux. */
function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    // Not Linux.
    return 'only';
  }
}
