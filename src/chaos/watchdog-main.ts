/**
 * A small program beside every run: when the run is gone, however it ended, it heals what the
 * journal says is left: stopped workers are killed, keys and schemas removed.
 *
 * Usage: node watchdog-main.js JOURNAL_FILE, with standard input a pipe from the run. Passwords
 * come from FENCEPOST_PASSWORD and FENCEPOST_RESOURCE.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { healFile, secretsFrom } from './heal.ts';
import { isOwned, readJournal } from './undo-journal.ts';

const lookEveryMs = 50;

async function main(file: string): Promise<void> {
  process.title = 'fencepost-watchdog';
  // Ctrl-C and a closing terminal are for the run, which undoes everything itself.
  for (const name of ['SIGINT', 'SIGHUP'] as const) process.on(name, () => undefined);
  await new Promise<void>((resolve) => {
    process.stdin.resume().once('close', () => {
      resolve();
    });
  });
  for (;;) {
    const journal = readJournal(file);
    if (journal === undefined) return;
    if (!(await isOwned(journal))) break;
    await delay(lookEveryMs);
  }
  await healFile(file, secretsFrom(process.env));
}

const [, , file] = process.argv;
if (file === undefined) {
  process.stderr.write('usage: node watchdog-main.js JOURNAL_FILE\n');
  process.exitCode = 2;
} else {
  await main(file);
  process.exit(0);
}
