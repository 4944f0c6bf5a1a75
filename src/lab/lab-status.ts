/** What runs: every lab of this user with the state of its servers; and which of them to take down. */
import { setTimeout as delay } from 'node:timers/promises';
import { UsageError } from '../domain/errors.ts';
import { nearestName } from '../domain/nearest.ts';
import type { Environment } from './folders.ts';
import { isRunning } from './kill.ts';
import type { LabInfo } from './lab.ts';
import { printableSpec } from './lab-spec.ts';
import {
  describeRecord,
  listRecords,
  readRecord,
  recordFile,
  removeLab,
  type LabRecord,
} from './records.ts';

const startingPollMs = 50;

export interface LabStatus extends LabInfo {
  readonly folder: string;
  readonly ageMs: number;
  /** `partly`: some of its servers were killed. */
  readonly state: 'starting' | 'running' | 'partly' | 'stopped';
}

/** All labs, oldest first. */
export async function labStatus(env: Environment, now: Date): Promise<readonly LabStatus[]> {
  return Promise.all(listRecords(env).map((record) => statusOf(record, now)));
}

async function statusOf(record: LabRecord, now: Date): Promise<LabStatus> {
  const running = await Promise.all(record.servers.map((server) => isRunning(server)));
  const state =
    record.starting !== undefined
      ? 'starting'
      : running.every((each) => !each)
        ? 'stopped'
        : running.length === record.spec.members && running.every(Boolean)
          ? 'running'
          : 'partly';
  const ageMs = now.getTime() - new Date(record.startedAt).getTime();
  const spec = printableSpec(record.spec);
  return { ...describeRecord(record), spec, folder: record.folder, ageMs, state };
}

/**
 * Stops labs and removes them: the one of this id; without an id the only one, or with `all` every
 * one that was started by `lab up`. Those of a run end with the run and are stopped by id only.
 * One that is being started is waited for: removed under its starter, it could leave a server.
 * @returns the ids of what was stopped
 * @throws {UsageError} `unknown-lab`, or `which-lab` when several run and none was named
 */
export async function stopLabs(
  env: Environment,
  which: { readonly id: string | undefined; readonly all: boolean },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const stopped: string[] = [];
  for (const { id } of choose(listRecords(env), which)) {
    const file = recordFile(env, id);
    const record = await whenStarted(file, signal);
    // Its start failed meanwhile, which removes it.
    if (record === undefined) continue;
    await removeLab(file, record);
    stopped.push(id);
  }
  return stopped;
}

async function whenStarted(file: string, signal: AbortSignal): Promise<LabRecord | undefined> {
  for (;;) {
    signal.throwIfAborted();
    const record = readRecord(file);
    if (record?.starting === undefined || !(await isRunning(record.starting))) return record;
    await delay(startingPollMs);
  }
}

function choose(
  records: readonly LabRecord[],
  { id, all }: { readonly id: string | undefined; readonly all: boolean },
): readonly LabRecord[] {
  if (id !== undefined) return [findRecord(records, id)];
  const own = records.filter(({ owner }) => owner === undefined);
  if (all || own.length <= 1) return own;
  throw new UsageError(`${own.length} labs run`, {
    code: 'which-lab',
    hint: `name one, or use --all: ${own.map((record) => record.id).join(', ')}`,
    definite: true,
  });
}

function findRecord(records: readonly LabRecord[], id: string): LabRecord {
  const record = records.find((each) => each.id === id);
  if (record !== undefined) return record;
  const ids = records.map((each) => each.id);
  const nearest = nearestName(id, ids);
  throw new UsageError(`there is no lab "${id}"`, {
    code: 'unknown-lab',
    hint:
      nearest === undefined ? 'see what runs: fencepost lab status' : `did you mean ${nearest}?`,
    definite: true,
  });
}
