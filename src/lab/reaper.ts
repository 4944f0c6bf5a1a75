/**
 * A small program beside every lab that belongs to a run. When the run is gone, however it ended,
 * it kills the servers and the workers that the run noted down (stopped ones too, without resuming
 * them: a resumed orphan would write) and removes the lab.
 *
 * Usage: node reaper.js RECORD_FILE, with standard input a pipe from the owner.
 */
import { existsSync } from 'node:fs';
import { isRunning } from './kill.ts';
import { readRecord, removeLab } from './records.ts';

/** The pipe tells of the owner's end; this is for a pipe that something else keeps open. */
const lookEveryMs = 2000;
/** Once the pipe is closed the owner is about to be gone: its files close before it ends. */
const lookSoonMs = 50;

async function main(file: string): Promise<void> {
  process.title = 'fencepost-reaper';
  // Ctrl-C and a closing terminal are for the owner, which stops the lab itself.
  for (const name of ['SIGINT', 'SIGHUP'] as const) process.on(name, () => undefined);
  let wake = (): void => undefined;
  let pauseMs = lookEveryMs;
  process.stdin.resume().once('close', () => {
    pauseMs = lookSoonMs;
    wake();
  });
  let record = readRecord(file);
  for (;;) {
    // A record that is gone may have been removed with its state folder: the lab is still there.
    record = readRecord(file) ?? record;
    if (record === undefined || !(existsSync(file) || existsSync(record.folder))) return;
    if (record.owner !== undefined && !(await isRunning(record.owner))) {
      await removeLab(file, record);
      return;
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pauseMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

const [, , file] = process.argv;
if (file === undefined) {
  process.stderr.write('usage: node reaper.js RECORD_FILE\n');
  process.exitCode = 2;
} else {
  await main(file);
  process.exit(0);
}
