/** `fencepost log`: options and wiring. */
import type { RegisterCommand } from './command.ts';
import { countValue } from '../option-values.ts';
import { addOutputOption } from '../output.ts';
import type { LogOptions } from './log-run.ts';

const details = `
Examples:
  fencepost log report:eod
  fencepost log --limit 20 -o json
  fencepost log --verify

Oldest first, one row for each release that was begun. NOT RECORDED: the program ended between its
intent and its outcome, so look at the lock. --verify recomputes the chain of the file's lines and
exits 1 at the first that was edited, taken out or cut off. Lines missing at the end leave a whole
chain: compare the digest of the last line with one that you kept elsewhere.`;

export const registerLog: RegisterCommand = (program, io, setExit) => {
  const command = program
    .command('log')
    .summary('list the releases made from this machine, or verify their record')
    .description('List the releases that were recorded by this user on this machine, oldest first.')
    .argument('[name]', 'only those of this lock')
    .option('--verify', 'check that the record is whole')
    .option('--limit <n>', 'only the newest so many', countValue)
    .option('--audit-log <file>', 'where releases were recorded')
    .option('--no-headers', 'no heading above the table');
  addOutputOption(command, ['table', 'json', 'jsonl'])
    .addHelpText('after', details)
    .action(async (name: string | undefined, options: LogOptions) => {
      const { showLog, verifyLog } = await import('./log-run.ts');
      setExit(
        await (options.verify === true ? verifyLog(name, options, io) : showLog(name, options, io)),
      );
    });
};
