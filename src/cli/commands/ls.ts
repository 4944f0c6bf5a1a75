/** `fencepost ls`: options and wiring of the listing. */
import { Option, type Command } from 'commander';
import { lockStates } from '../../reports/locks-words.ts';
import type { RegisterCommand } from './command.ts';
import { choiceListValue, countValue, listValue, wordsValue } from '../option-values.ts';
import { addOutputOption } from '../output.ts';
import { addConventionsOption, addTargetOptions } from '../target-options.ts';
import type { ListOptions } from './ls-options.ts';

const examples = `
Examples:
  fencepost ls --target redis://10.0.0.4:6379
  fencepost ls 'orders:*' --target redis://10.0.0.4 --state no-ttl
  fencepost ls --target etcd://a,b,c --target zk://a,b,c -o jsonl | jq -r .name
  FENCEPOST_TARGET=redis://10.0.0.4 fencepost ls -o wide
  fencepost ls --target redis://10.0.0.4 --save before.jsonl
  fencepost ls 'orders:*' --from before.jsonl --state no-ttl
  fencepost ls --target redis://10.0.0.4 --diff before.jsonl

With several targets, -o name prints the target, a tab and the name.
In the table "?" is unknown, "none" is known to be absent, "–" does not apply. Names and owners are
escaped where they hold control characters; every command takes them in that form.`;

export const registerLs: RegisterCommand = (program, io, setExit) => {
  const command: Command = program
    .command('ls')
    .summary('list locks')
    .description('List the locks of one or more lock services, without blocking them.')
    .argument('[pattern]', 'only names that match this glob')
    .option('--all', 'also records that nothing takes for a lock')
    .addOption(
      new Option('--pattern <glob>', 'names that make a plain string a lock (repeatable)')
        .argParser(listValue)
        .default(undefined, '*lock*, *mutex*, *lease*, *leader*'),
    )
    .addOption(
      new Option(
        '--convention <ids>',
        'only locks in these layouts (comma-separated or repeatable)',
      ).argParser(wordsValue),
    )
    .addOption(
      new Option('--state <state>', 'only locks in this state (repeatable)')
        .choices(lockStates)
        .argParser(choiceListValue(lockStates)),
    )
    .option('--rate <n>', 'read at most this many records a second', countValue)
    .option('--limit <n>', 'stop after this many locks', countValue)
    .option('--save <file>', 'keep the listing in this file as well, for --from and --diff')
    .option('--force', 'let --save replace a file')
    .option('--from <file>', 'list the locks of a file that --save wrote; no target is asked')
    .option('--diff <file>', 'only what changed hands since that file, on a target or in --from')
    .option('--no-headers', 'no heading above a table');
  addOutputOption(command, ['table', 'wide', 'json', 'jsonl', 'name']);
  addConventionsOption(command);
  addTargetOptions(command)
    .addHelpText('after', examples)
    .action(async (pattern: string | undefined, options: ListOptions) => {
      const { listLocks } = await import('./ls-run.ts');
      setExit(await listLocks(pattern, options, io));
    });
};
