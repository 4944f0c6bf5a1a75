/** One server of a lab as a process: spawn it, wait until it serves, tell why it did not. */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Interrupted, TargetError } from '../domain/errors.ts';
import { bytesToText } from '../domain/text.ts';
import type { Environment } from './folders.ts';
import type { LabPlan, ServerPlan } from './plan.ts';

const readyDeadlineMs = 45_000;
const pollMs = 25;

/** The server ended because another program took its port: worth another try with other ports. */
export class PortTaken extends TargetError {}

/**
 * Starts the server detached, in its own process group and with its log in a file, so that neither
 * Ctrl-C nor the end of this program reaches it.
 */
export function spawnServer(
  plan: ServerPlan,
  args: readonly string[],
  env: Environment,
): ChildProcess {
  mkdirSync(plan.dataDir, { recursive: true });
  for (const [file, text] of Object.entries(plan.files)) writeFileSync(file, text, { mode: 0o600 });
  const log = openSync(plan.logFile, 'a', 0o600);
  try {
    const child = spawn(plan.file, args, {
      cwd: dirname(plan.logFile),
      detached: true,
      // Into the lab's folder: that is how a server without a record is found.
      stdio: ['ignore', log, log],
      env: { PATH: env['PATH'], HOME: env['HOME'], LC_ALL: 'C', ...plan.env },
    });
    // A program that cannot be executed is reported by waitUntilReady, from pid and log.
    child.once('error', (error) => {
      writeFileSync(plan.logFile, `${error.message}\n`, { flag: 'a' });
    });
    child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}

/**
 * Resolves when the server serves.
 * @throws {PortTaken} when it ended because its port was taken
 * @throws {TargetError} when it ended or the deadline passed, with the end of its log
 */
export async function waitUntilReady(
  plan: ServerPlan,
  child: ChildProcess,
  signal: AbortSignal | undefined,
): Promise<void> {
  const deadline = Date.now() + readyDeadlineMs;
  for (;;) {
    throwIfAborted(signal);
    if (hasEnded(child)) throw notReady(plan, 'ended before it was ready');
    const ready = await plan.isReady().catch(() => false);
    // Asked again after the answer: it may have come from a stranger on the port of a dead child.
    if (ready && !hasEnded(child)) return;
    if (Date.now() > deadline) {
      throw notReady(plan, `was not ready within ${readyDeadlineMs / 1000} s`);
    }
    await delay(pollMs);
  }
}

/**
 * Resolves when the servers serve as one.
 * @throws {TargetError} when they do not in time
 */
export async function waitUntilTogether(
  plan: LabPlan,
  signal: AbortSignal | undefined,
): Promise<void> {
  const deadline = Date.now() + readyDeadlineMs;
  while ((await plan.isTogether?.().catch(() => false)) === false) {
    throwIfAborted(signal);
    if (Date.now() > deadline) {
      throw new TargetError(
        `${plan.servers.map(({ name }) => name).join(', ')} did not find each other within ${readyDeadlineMs / 1000} s`,
        { code: 'lab-not-ready', hint: 'is the machine very busy? try again', definite: true },
      );
    }
    await delay(pollMs);
  }
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw new Interrupted('interrupted while servers were starting', { code: 'interrupted' });
}

/** Resolves when the child has ended and was reaped, so that its ports are free. */
export function waitForEnd(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return Promise.resolve();
  // Unreferenced at the start; this program must not end while it waits here.
  child.ref();
  return new Promise((resolve) => {
    child.once('exit', () => {
      resolve();
    });
  });
}

/** Whether the child never started or has ended. */
export function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

function notReady(plan: ServerPlan, what: string): TargetError {
  const log = existsSync(plan.logFile) ? readFileSync(plan.logFile) : Buffer.alloc(0);
  const message = `${plan.name} (${plan.file}) ${what}`;
  if (/address already in use|EADDRINUSE|BindException/i.test(log.toString('latin1'))) {
    return new PortTaken(message, { code: 'lab-port-taken', definite: true });
  }
  const tail = bytesToText(log).split('\\n').slice(-13).join('\n').trim();
  return new TargetError(message, {
    code: 'lab-not-ready',
    hint: tail === '' ? 'its log is empty' : `the end of its log:\n${tail}`,
    definite: true,
  });
}
