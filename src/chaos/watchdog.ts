/** Starts the watchdog of a run: its standard input closes when this process ends, whatever ends it. */
import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HealSecrets } from './heal.ts';

/** The built program, also when this file runs from its source (tests). */
const watchdogMain = fileURLToPath(
  new URL('./watchdog-main.js', import.meta.url.replace(/\/src\/chaos\/[^/]*$/, '/dist/chaos/')),
);

export interface Watchdog {
  /** The run has undone everything itself. */
  stop(): void;
}

/** @param secrets for what the journal leaves out; handed on by the environment, which others cannot read */
export function startWatchdog(journalFile: string, secrets: HealSecrets): Watchdog {
  const child = spawn(process.execPath, [watchdogMain, journalFile], {
    cwd: dirname(journalFile),
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {
      ...process.env,
      FENCEPOST_PASSWORD: secrets.password?.reveal(),
      FENCEPOST_RESOURCE: secrets.resourceUrl?.reveal(),
    },
  });
  child.unref();
  // The pipe must not keep us alive either.
  if (child.stdin instanceof Socket) child.stdin.unref();
  // Without a watchdog the next run or `heal` does its work.
  child.stdin.once('error', () => undefined);
  child.once('error', () => undefined);
  return { stop: () => void child.kill('SIGKILL') };
}
