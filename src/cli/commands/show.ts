/** `fencepost show`: options and wiring. */
import type { RegisterCommand } from './command.ts';
import { observeValue } from '../option-values.ts';
import { addOutputOption } from '../output.ts';
import { addConventionsOption, addTargetOptions } from '../target-options.ts';
import type { ShowOptions } from './show-run.ts';

const details = `
Examples:
  fencepost show report:eod --target redis://10.0.0.4:6379
  fencepost show /locks/deploy --target etcd://a,b,c --observe 30s
  fencepost show sku:12 --target redis://10.0.0.4 --convention redisson
  fencepost show report:eod --target redis://10.0.0.4 --observe off -o json

The lease is watched for two thirds of its length, at most 20 s, unless --observe says otherwise: a
shorter look can show that a holder lives, never that it is dead.
Exit code 6 when there is no such lock, 2 when the record cannot be in the layout that was forced.`;

export const registerShow: RegisterCommand = (program, io, setExit) => {
  const command = program
    .command('show')
    .summary('show one lock in full: who holds it, who waits, and whether the holder lives')
    .description('Show one lock in full, watch its lease, and judge whether its holder lives.')
    .argument('<name>', 'the name as `ls` prints it')
    .option('--convention <id>', 'read the record in this layout, whatever it looks like')
    .option('--holder <owner>', 'of several holders the one whose grant is meant')
    .option(
      '--observe <duration>',
      'watch the lease: auto, off, or for so long',
      observeValue,
      'auto',
    );
  addOutputOption(command, ['text', 'json', 'jsonl', 'name']);
  addConventionsOption(command);
  addTargetOptions(command)
    .addHelpText('after', details)
    .action(async (name: string, options: ShowOptions) => {
      const { showLock } = await import('./show-run.ts');
      setExit(await showLock(name, options, io));
    });
};
