/** Ends processes of a lab for good, and only those: by identity, or by the lab folder they write to. */
import { readlinkSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import {
  openProcessReader,
  signalGroup,
  type ProcessFacts,
  type ProcessIdentity,
} from '../processes/process-evidence.ts';
import { InternalError } from '../domain/errors.ts';

const reader = openProcessReader();
const killDeadlineMs = 10_000;

/** Whether that very process still runs. A zombie does not. */
export async function isRunning(identity: ProcessIdentity): Promise<boolean> {
  const facts = await reader.read(identity.pid);
  return facts?.startTime === identity.startTime && facts.state !== 'Z';
}

/** The identity of a live process; undefined when there is none of that number. */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const facts = await reader.read(pid);
  return facts && { pid, startTime: facts.startTime };
}

/**
 * Sends SIGKILL to the process group that this leader started: stopped members die without being
 * resumed. Members that outlived their leader die too, unless its number was given away since.
 */
export async function killGroup(leader: ProcessIdentity): Promise<void> {
  // 0 means the caller's own group to kill(2), and foreign groups to a container's /proc.
  if (leader.pid <= 1) return;
  await signalGroup(leader, 'SIGKILL', reader);
  const leaderNow = await reader.read(leader.pid);
  if (leaderNow !== undefined && leaderNow.startTime !== leader.startTime) return;
  for (const member of await reader.readGroup(leader.pid)) killNow(member);
}

/** Kills every group and every server of the folder; resolves when all have ended. */
export async function killLabProcesses(
  groups: readonly ProcessIdentity[],
  folder: string,
): Promise<void> {
  for (const group of groups) await killGroup(group);
  for (const found of await processesOf(folder)) killNow(found);
  const deadline = Date.now() + killDeadlineMs;
  while (await anythingLeft(groups, folder)) {
    if (Date.now() > deadline) {
      throw new InternalError(`processes in "${folder}" survive SIGKILL`, {
        code: 'unkillable',
        hint: 'they wait for a device or belong to another user: look at them with ps',
      });
    }
    await delay(20);
  }
}

async function anythingLeft(groups: readonly ProcessIdentity[], folder: string): Promise<boolean> {
  for (const group of groups) if (await isRunning(group)) return true;
  return (await processesOf(folder)).length > 0;
}

/**
 * Processes that write their standard output into the folder, as every server of a lab does. It
 * finds a server whose starter was killed before it could write the pid down, and leaves alone a
 * person's shell that merely stands in the folder. Linux only; elsewhere empty.
 */
export async function processesOf(folder: string): Promise<readonly ProcessFacts[]> {
  if (process.platform !== 'linux') return [];
  const found: ProcessFacts[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name) || standardOutput(name)?.startsWith(`${folder}/`) !== true) continue;
    const facts = await reader.read(Number(name));
    if (facts !== undefined && facts.state !== 'Z') found.push(facts);
  }
  return found;
}

function standardOutput(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/fd/1`);
  } catch {
    // Ended in between, a zombie, or another user's process.
    return undefined;
  }
}

function killNow(facts: ProcessFacts): void {
  try {
    process.kill(facts.pid, 'SIGKILL');
  } catch {
    // ESRCH: it ended by itself in between. EPERM: not ours, so not to be killed by us.
  }
}
