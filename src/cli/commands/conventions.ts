/** `fencepost conventions`: options and wiring. */
import { Option } from 'commander';
import type { RegisterCommand } from './command.ts';
import { addOutputOption } from '../output.ts';
import { addConventionsOption } from '../target-options.ts';
import type { ConventionsOptions } from './conventions-run.ts';

const details = `
Examples:
  fencepost conventions
  fencepost conventions --system redis -o json
  fencepost conventions --conventions ./conventions.yaml      # also says what is wrong with the file

Those of your own are asked first, in the order of their file. In a pattern <name> stands for one
character or more. The last column is what a forced release tells its waiters.`;

export const registerConventions: RegisterCommand = (program, io) => {
  const command = program
    .command('conventions')
    .summary('list the lock layouts that are known, your own among them')
    .description('List every lock layout that fencepost knows: what it recognises, whom it wakes.')
    .addOption(
      new Option('--system <system>', 'only those of one lock service').choices([
        'redis',
        'etcd',
        'zookeeper',
      ]),
    )
    .option('--no-headers', 'no heading above the table');
  addOutputOption(command, ['table', 'json', 'jsonl', 'name']);
  addConventionsOption(command)
    .addHelpText('after', details)
    .action(async (options: ConventionsOptions) => {
      const { listConventions } = await import('./conventions-run.ts');
      await listConventions(options, io);
    });
};
