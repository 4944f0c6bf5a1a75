/** `fencepost audit`: options and wiring. */
import { Option } from 'commander';
import { severities } from '../../domain/audit-report.ts';
import { durationValue, wordsValue } from '../option-values.ts';
import { addOutputOption } from '../output.ts';
import { addConventionsOption, addTargetOptions } from '../target-options.ts';
import type { AuditOptions } from './audit-run.ts';
import type { RegisterCommand } from './command.ts';

const details = `
Examples:
  fencepost audit --target redis://inspector@10.0.0.4:6379 --password-file /run/secrets/redis
  fencepost audit --context prod-redis --fail-on high --allow-unknown R10,R13 -o junit
  fencepost audit --explain R04

Reads only: a bounded sample of the locks, then of Redis INFO, CONFIG GET, ROLE, the slow log and the
ACL; of etcd the status, metrics and leases of every member named, alarms and roles. What this account
may not read is unknown, with the permission that would answer it, and never a pass. The first failure
at or above --fail-on makes the exit code 1; else an unknown there that is not allowed makes it 3. One
Redis server with its replicas, and etcd, are all that is audited so far.`;

export const registerAudit: RegisterCommand = (program, io, setExit) => {
  const command = program
    .command('audit')
    .summary('check whether a lock server is set up to keep locks safe')
    .description('Check the settings of a live lock server, and its locks, for lock safety.')
    .option('--check <ids>', 'only these checks, as R04,R10', wordsValue)
    .option('--skip <ids>', 'all but these checks', wordsValue)
    .option('--list', 'list the checks, and do nothing else')
    .option('--explain <id>', 'say what one check reads, why, and what to do; nothing else')
    .addOption(
      new Option('--fail-on <severity>', 'exit 1 from this severity upward')
        .choices(severities)
        .default('med'),
    )
    .option('--allow-unknown <ids>', 'their being unknown is no reason for exit 3', wordsValue)
    .addOption(
      new Option('--lease <duration>', 'lease of your locks: pauses are measured against it')
        .argParser(durationValue)
        .default(10_000, '10s'),
    );
  addOutputOption(command, ['table', 'json', 'md', 'junit']);
  addConventionsOption(command);
  addTargetOptions(command)
    .addHelpText('after', details)
    .action(async (options: AuditOptions) => {
      const { audit } = await import('./audit-run.ts');
      setExit(await audit(options, io));
    });
};
