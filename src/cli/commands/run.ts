/** `fencepost run`: options and wiring of chaos scenarios. */
import { Option, type Command } from 'commander';
import { countValue, durationValue } from '../option-values.ts';
import { addOutputOption, runFormats } from '../output.ts';
import { addTargetOptions } from '../target-options.ts';
import type { RegisterCommand } from './command.ts';
import type { RunOptions } from './run-run.ts';

const examples = `
Examples:
  fencepost run scenarios/paused-holder-resumes.yaml --lab
  fencepost run scenarios/paused-holder-resumes.yaml --lab --matrix redis,etcd,zookeeper
  fencepost run scenarios/ --target redis://10.0.0.4 --junit result.xml --deadline 20m
  fencepost run scenarios/paused-holder-resumes.yaml --lab --dry-run

A run passes when every invariant came out as the scenario expects, every fault is proven, and every
control went red. What is not proven is inconclusive (exit 3), never a pass. The seed fixes the plan
(who, which fault, for how long), not how the machine interleaves it.`;

export const registerRun: RegisterCommand = (program, io, setExit) => {
  const command: Command = program
    .command('run')
    .summary('run chaos scenarios and judge whether locks and business kept their promises')
    .description('Run chaos scenarios against throwaway servers or a live lock service.')
    .argument('<scenario...>', 'scenario files (YAML), or folders of them')
    .option('--filter <glob>', 'run only the scenarios whose name matches')
    .option('--lab', 'start throwaway servers for the run')
    .option('--matrix <list>', 'columns: redis, redlock, etcd, zookeeper, protocol ids, or all')
    .option('--seed <seed>', 'root of every random choice (default: the file, else random)')
    .addOption(
      new Option('--repeat <n>', 'run each scenario this often').argParser(countValue).default(1),
    )
    .option('--vary-seed', 'give each repetition a seed of its own; it is printed')
    .option('--out <folder>', 'where the folders of runs go', 'fencepost-runs')
    .option('--junit <file>', 'also write JUnit XML there')
    .option('--summary <file>', 'also write Markdown there, for the summary of a CI job')
    .option('--fail-fast', 'begin nothing more once an invariant was violated')
    .option(
      '--deadline <duration>',
      'undo everything and end inconclusive after this long',
      durationValue,
    )
    .option(
      '--resource <url>',
      'PostgreSQL database for the business side (also: FENCEPOST_RESOURCE; default: embedded)',
    )
    .option('--no-controls', 'leave the controls out; such a run cannot pass')
    .option(
      '--dry-run',
      'print the plan with each undo; only read --target, and ask an own worker',
    );
  addOutputOption(command, runFormats);
  addTargetOptions(command)
    .addHelpText('after', examples)
    .action(async (files: readonly string[], options: RunOptions) => {
      const { run } = await import('./run-run.ts');
      setExit(await run(files, options, io));
    });
};
