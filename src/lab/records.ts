/**
 * Records of labs: one JSON file each in the user's state folder, so that other commands (and the
 * next one after a crash) find what runs. Removing a lab is the same whoever does it.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { ProcessIdentity } from '../processes/process-evidence.ts';
import { recordsFolder, removeLabFolder, type Environment } from './folders.ts';
import { isRunning, killLabProcesses } from './kill.ts';
import type { LabInfo } from './lab.ts';
import { releasePorts } from './ports.ts';

export const identityShape = z.object({ pid: z.int().positive(), startTime: z.string() });

const recordShape = z.object({
  schemaVersion: z.literal(1),
  id: z.string(),
  spec: z.object({
    system: z.enum(['redis', 'redis-sentinel', 'redis-cluster', 'redlock', 'etcd', 'zookeeper']),
    members: z.int().positive(),
    // Absent in records of versions before there was TLS.
    tls: z.boolean().default(false),
    options: z.record(z.string(), z.string()),
  }),
  target: z.string(),
  folder: z.string(),
  startedAt: z.string(),
  /** Absent for a lab that outlives its command. */
  owner: identityShape.optional(),
  /** Who is starting it; absent once every server serves. */
  starting: identityShape.optional(),
  ports: z.array(z.int()),
  servers: z.array(
    z.object({
      name: z.string(),
      pid: z.int().positive(),
      startTime: z.string(),
      host: z.string(),
      port: z.int(),
      otherPorts: z.record(z.string(), z.int()),
      dataDir: z.string(),
      logFile: z.string(),
    }),
  ),
});

export type LabRecord = Readonly<z.infer<typeof recordShape>>;

/** Where the record of a lab is. */
export function recordFile(env: Environment, id: string): string {
  return join(recordsFolder(env), `${id}.json`);
}

/** Writes the record in one step: a reader sees the old one or the new one. */
export function writeRecord(file: string, record: LabRecord): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}.draft`;
  writeFileSync(draft, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(draft, file);
}

/** The record in a file; undefined when it is gone or is not a record. */
export function readRecord(file: string): LabRecord | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // Its lab was removed in between.
    return undefined;
  }
  return parseRecord(text);
}

function parseRecord(text: string): LabRecord | undefined {
  try {
    return recordShape.safeParse(JSON.parse(text)).data;
  } catch {
    // Not JSON: not written by us.
    return undefined;
  }
}

/** All labs of this user, oldest first. */
export function listRecords(env: Environment): readonly LabRecord[] {
  const folder = recordsFolder(env);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => readRecord(join(folder, name)) ?? [])
    .sort((a, b) => a.startedAt.localeCompare(b.startedAt));
}

/** A record without what only the lab itself needs. */
export function describeRecord(record: LabRecord): LabInfo {
  const { id, spec, target, servers, startedAt, owner } = record;
  return {
    id,
    spec,
    target,
    startedAt,
    ownerPid: owner?.pid,
    servers: servers.map(({ startTime: _, ...server }) => server),
  };
}

/**
 * Kills the lab's processes, the workers that its run noted down among them, and removes its folder,
 * its ports and its record. Idempotent, and safe to be done by two at once.
 */
export async function removeLab(file: string, record: LabRecord): Promise<void> {
  // Servers may have been started since the record was read.
  const servers = [...record.servers, ...(readRecord(file)?.servers ?? [])];
  // Workers first: they must never see their servers go, and a stopped one must not be resumed.
  const groups = [...adoptedProcesses(record.folder), ...servers];
  await killLabProcesses(groups, record.folder);
  removeLabFolder(record.folder);
  releasePorts(record.ports);
  rmSync(file, { force: true });
}

/** Removes labs whose run or starter was killed, and records of labs that a reboot took away. */
export async function removeAbandonedLabs(env: Environment): Promise<readonly LabRecord[]> {
  const removed: LabRecord[] = [];
  for (const record of listRecords(env)) {
    const file = recordFile(env, record.id);
    if (existsSync(record.folder) && !(await isAbandoned(file, record))) continue;
    await removeLab(file, record);
    removed.push(record);
  }
  return removed;
}

/**
 * Whether nobody keeps a lab any more. `seen` is its record as it was read: a starter that has
 * ended since may have finished its work first, which its last record tells.
 */
export async function isAbandoned(file: string, seen: LabRecord): Promise<boolean> {
  const keeper = keeperOf(seen);
  if (keeper === undefined || (await isRunning(keeper))) return false;
  const last = readRecord(file);
  return last !== undefined && keeperOf(last)?.pid === keeper.pid;
}

/** Whose end is the lab's end; undefined once a lab that outlives its command serves. */
function keeperOf(record: LabRecord): ProcessIdentity | undefined {
  return record.owner ?? record.starting;
}

/** Notes down a process group that must end with the lab; synced to disk before it returns. */
export function adoptProcess(folder: string, { pid, startTime }: ProcessIdentity): void {
  const file = openSync(processesFile(folder), 'a', 0o600);
  try {
    writeSync(file, `${pid} ${startTime}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function processesFile(folder: string): string {
  return join(folder, 'processes');
}

/** The groups noted down. A last line without its end was cut by a crash and is left out. */
export function adoptedProcesses(folder: string): readonly ProcessIdentity[] {
  const file = processesFile(folder);
  if (!existsSync(file)) return [];
  return [...readFileSync(file, 'utf8').matchAll(/^(\d+) (.+)\n/gm)].map(([, pid, startTime]) => ({
    pid: Number(pid),
    startTime: startTime ?? '',
  }));
}
