/** `fencepost history`: options and wiring. */
import type { RegisterCommand } from './command.ts';
import { countValue } from '../option-values.ts';
import { addOutputOption } from '../output.ts';
import { addConventionsOption, addTargetOptions } from '../target-options.ts';
import type { HistoryOptions } from './history-run.ts';

const details = `
Examples:
  fencepost history orders:42 --target redis://10.0.0.4:6379
  fencepost history /locks/deploy --target etcd://a,b,c --limit 20 -o jsonl

Oldest first. What the server keeps differs: the last line (on stderr) says from when on the
history is complete, or why that is not known.`;

export const registerHistory: RegisterCommand = (program, io, setExit) => {
  const command = program
    .command('history')
    .summary('list the past holders of a lock and their fencing tokens')
    .description('List the past and present holders of a lock, oldest first, with their fences.')
    .argument('<name>', 'the name as `ls` prints it')
    .option('--convention <id>', 'read the record in this layout, whatever it looks like')
    .option('--limit <n>', 'only the newest so many', countValue)
    .option('--no-headers', 'no heading above the table');
  addOutputOption(command, ['table', 'json', 'jsonl']);
  addConventionsOption(command);
  addTargetOptions(command)
    .addHelpText('after', details)
    .action(async (name: string, options: HistoryOptions) => {
      const { showHistory } = await import('./history-run.ts');
      setExit(await showHistory(name, options, io));
    });
};
