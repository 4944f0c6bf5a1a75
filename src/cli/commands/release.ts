/** `fencepost release`: options and wiring. */
import { Option } from 'commander';
import type { RegisterCommand } from './command.ts';
import { commandValue, durationValue, listValue, observeValue } from '../option-values.ts';
import { addOutputOption } from '../output.ts';
import { addConventionsOption, addTargetOptions } from '../target-options.ts';
import type { ReleaseCommandOptions } from './release-options.ts';

const details = `
Without --execute this is a plan: everything is read, nothing is changed, and the exit code says
whether executing it now would be refused (5) or not (0).

Examples:
  fencepost release report:eod --target redis://10.0.0.4:6379
  fencepost release report:eod --target redis://10.0.0.4 --expect r1.5be2c07d --reason INC-4711
  fencepost release report:eod --target redis://10.0.0.4 --expect r1.5be2c07d --execute \\
    --confirm report:eod --override owner-connection="pod list checked, batch-7 is gone"

On a terminal the lock's name is typed to confirm. Without one, --expect (from \`fencepost show\`) and
--confirm NAME are needed; piped input is never consent. Deleting a record does not stop its owner.
--notify gives the command {lock, owners, oldToken, floor, …} as JSON; unless it exits with 0, nothing
is deleted.
Exit codes: 0 released or taken over by the next in line; 3 unknown, or the old owner came back;
5 a guard refused; 6 it changed hands or was gone: nothing was deleted.`;

export const registerRelease: RegisterCommand = (program, io, setExit) => {
  const command = program
    .command('release')
    .summary('break one stuck lock under guards; plans unless --execute is given')
    .description('Delete exactly the grant that you saw, under guards, and prove what happened.')
    .argument('<name>', 'the name as `ls` prints it; no patterns')
    .option('--execute', 'do it; without this the plan is shown and nothing is changed')
    .option('--expect <token>', 'the grant to release, as `show` prints it')
    .option('--confirm <name>', "the lock's name again, where there is no terminal to type it")
    .option('--override <guard=reason>', 'overrule a soft guard; recorded', listValue)
    .option('--reason <text>', 'why, or the ticket; recorded')
    .option('--convention <id>', 'read the record in this layout, whatever it looks like')
    .option('--holder <owner>', 'of several holders the one to release, as `show` prints it')
    .option(
      '--observe <duration>',
      'watch the lease: auto, off, or for so long',
      observeValue,
      'auto',
    )
    .option(
      '--hold <duration>',
      'replace the record by yours for so long, to keep the queue out',
      durationValue,
    )
    .option('--end-session', "also end the owner's lease: separate, not atomic")
    .option(
      '--fence-floor <key>',
      'raise the number at this key above the fence of the lock, in the same step (etcd)',
    )
    .option(
      '--notify <command>',
      'tell your resource of the fence floor (JSON on stdin) before anything is deleted',
      commandValue,
    )
    .addOption(
      new Option('--verify <duration>', 'look for so long afterwards')
        .argParser(durationValue)
        .default(10_000, '10s'),
    )
    .option('--wait-expiry', 'wait until the lease ends by itself instead of deleting')
    .option('--audit-log <file>', 'where releases are recorded');
  addOutputOption(command, ['text', 'json']);
  addConventionsOption(command);
  addTargetOptions(command)
    .addHelpText('after', details)
    .action(async (name: string, options: ReleaseCommandOptions) => {
      const { runRelease } = await import('./release-run.ts');
      setExit(await runRelease(name, options, io));
    });
};
